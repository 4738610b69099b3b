"""Predict a small set of networks with other versions of Python, torch, transformers and timm.

    python -m tests.reliability.versions RESULTS.jsonl --torch 2.11 2.12 2.13 --record
    python -m tests.reliability.versions RESULTS.jsonl --python python3.13 --transformers 5.0.0

Pip installs each combination of the named versions into its own folder below `--folder`, which
takes gigabytes if the package index offers torch with CUDA. A package without a named version, or
with the version "installed", is the installed one. Writes a line of JSON for each combination;
combinations with a line are not run again. Each network's period is compared with its period in the
first combination. The exit status is 1 if a prediction fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from tests.reliability import promises
from tests.reliability.answers import answered

ROOT = Path(__file__).parents[2]
INSTALLED = "installed"
_PACKAGES = ("torch", "transformers", "timm")
_NEEDS = {"hf:": "transformers", "timm:": "torchvision"}
"""Packages that a network needs; without them it is left out."""
_FILE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512))
    def forward(self, x):
        return self.layers(x)
    def example_inputs(self, batch=8):
        return (torch.empty(batch, 256),)
"""
_CONFIG = {"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 2}
CASES = {
    "bert-base": ("bert-base",),
    "resnet50": ("resnet50",),
    "gpt2 --train": ("gpt2", "--train"),
    "bert-base, compiled": ("bert-base", "--mode", "compiled"),
    "an own file, training": ("nets.py:Net", "--train"),
    "hf:": ("hf:config",),
    "timm:": ("timm:resnet18",),
}
"""The predicted networks, by name."""
_VERSIONS = """
import sys
from importlib.metadata import PackageNotFoundError, version
def of(name):
    try: return version(name)
    except PackageNotFoundError: return "none"
print(sys.version.split()[0], *map(of, sys.argv[1:]))
"""


class Stack(NamedTuple):
    """A Python and the versions of packages, "installed" for those of this environment."""

    python: str
    torch: str
    transformers: str
    timm: str

    @property
    def key(self) -> str:
        return " ".join(f"{name} {value}" for name, value in self._asdict().items())

    @property
    def requirements(self) -> list[str]:
        """The packages that pip installs for the stack, in addition to this environment."""
        pinned = zip(_PACKAGES, self[1:], strict=True)
        named = [f"{name}=={value}.*" for name, value in pinned if value != INSTALLED]
        return named if self.python == sys.executable else [*named, str(ROOT)]


def environment(stack: Stack, folder: Path) -> dict[str, str]:
    """The variables of a process with this stack, which is installed first."""
    target = folder / stack.key.replace(" ", "_").replace("/", "-")
    done = target / "complete"
    if stack.requirements and not done.exists():
        shutil.rmtree(target, ignore_errors=True)
        install = [stack.python, "-m", "pip", "install", "--quiet", "--target", str(target)]
        subprocess.run([*install, *stack.requirements], check=True)
        done.touch()
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, target))),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "RIDGEPOINT_TRACES": "off",
    }


def run(stack: Stack, folder: Path) -> dict[str, Any]:
    """The versions of a stack, the period of each network in seconds, and the errors."""
    variables = environment(stack, folder)
    printed = subprocess.run(
        [stack.python, "-c", _VERSIONS, *_PACKAGES, "torchvision"],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    versions: dict[str, str] = dict(
        zip(("Python", *_PACKAGES, "torchvision"), printed.stdout.split(), strict=True)
    )
    periods: dict[str, float] = {}
    errors: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as work:
        Path(work, "nets.py").write_text(_FILE, "utf-8")
        Path(work, "config").mkdir()
        Path(work, "config", "config.json").write_text(json.dumps(_CONFIG), "utf-8")
        for name, arguments in CASES.items():
            if versions.get(_NEEDS.get(name, "Python")) == "none":
                continue
            answer = subprocess.run(
                [stack.python, "-P", "-m", "app.cli", "predict", *arguments, "--json", "-"],
                cwd=work,
                env=variables,
                capture_output=True,
                text=True,
            )
            if answer.returncode == 0:
                periods[name] = json.loads(answer.stdout)["period_s"]
            else:
                errors[name] = answer.stderr.strip()[-300:]
    return {"key": stack.key, "versions": versions, "periods_s": periods, "errors": errors}


def figure(answers: list[dict[str, Any]]) -> str:
    """For each stack the predicted share of the set, and the largest difference from the first."""
    shown: list[str] = []
    for answer in answers:
        first, periods = answers[0]["periods_s"], answer["periods_s"]
        apart = max((abs(periods[n] / first[n] - 1) for n in periods if n in first), default=0.0)
        versions = ", ".join(f"{name} {value}" for name, value in answer["versions"].items())
        beside = "" if answer is answers[0] else f", periods within {apart:.1%} of the first"
        count = len(periods) + len(answer["errors"])
        shown.append(f"{versions}: {len(periods)} of {count}{beside}")
    return "; ".join(shown)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--python", nargs="+", default=[sys.executable], metavar="COMMAND")
    for name in _PACKAGES:
        parser.add_argument(f"--{name}", nargs="+", default=[INSTALLED], metavar="VERSION")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "versions"))
    parser.add_argument("--record", action="store_true", help="write the row of tests/README.md")
    options = parser.parse_args()
    known = answered(options.results)
    with options.results.open("a", encoding="utf-8") as file:
        for each in product(options.python, *(getattr(options, name) for name in _PACKAGES)):
            stack = Stack(*each)
            if stack.key in known:
                continue
            if shutil.which(stack.python) is None:
                print(f"{stack.python} is not on this machine: left out")
                continue
            known[stack.key] = run(stack, options.folder)
            file.write(json.dumps(known[stack.key]) + "\n")
            file.flush()
    for answer in known.values():
        for name, error in answer["errors"].items():
            print(f"{answer['key']}, {name}: {error}")
    text = figure([*known.values()])
    print(text)
    if options.record:
        promises.write(
            "other versions predict too", "python -m tests.reliability.versions RESULTS.jsonl", text
        )
    return int(any(answer["errors"] for answer in known.values()))


if __name__ == "__main__":
    sys.exit(main())
