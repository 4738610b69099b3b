"""Every architecture of transformers from its default configuration, and 300 networks of timm.

    python -m tests.reliability.networks RESULTS.jsonl --shard 0/8 --seconds 600 --record

A configuration of each model type is made with two layers, written as a `config.json` and loaded
as a user would, `hf:FOLDER`. Writes a line of JSON for each case; cases with a line are skipped.
Architectures that transformers cannot build from such a configuration count as not built. Those
that fail in the same way in torch itself, without Ridgepoint, count as failing in torch: their
default configuration contradicts itself, or they need inputs that a configuration does not
describe. Networks of timm, drawn by the hash of their names, are run if timm and torchvision are
installed; `--begins timm:` runs only these. The exit status is 1 if a prediction crashed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.utils._pytree import tree_map_only

from simulator import predict
from simulator.errors import InputError
from simulator.networks.loading.load import load
from simulator.tracing.raising import line_of
from tests.reliability import promises
from tests.reliability.answers import answered

PHASES = ("inference", "training")
_DEPTHS = (
    "num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers",
    "num_encoder_layers", "num_decoder_layers",
)  # fmt: skip
_LAYERS = 2  # widths stay: they cost no memory without data, and small ones contradict each other


_OF_TIMM = 300
_MOST_BYTES = 6e9  # weights with which a pass that depends on data is run


class Case(NamedTuple):
    """A model type of transformers, or "timm:NAME", in one phase."""

    kind: str
    phase: str

    @property
    def key(self) -> str:
        return f"{self.kind} {self.phase}"

    @property
    def part(self) -> float:
        """The position of its type in [0, 1), by the hash of its name."""
        return int.from_bytes(sha256(self.kind.encode()).digest()[:4], "big") / 2**32


def cases() -> list[Case]:
    """All model types that have a model, and networks of timm, in both phases."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    kinds = [*sorted(MODEL_MAPPING_NAMES), *_of_timm()]
    return [Case(kind, phase) for phase in PHASES for kind in kinds]


def _of_timm() -> list[str]:
    try:
        timm = import_module("timm")
    except (ImportError, RuntimeError):  # a torchvision built for another torch raises RuntimeError
        return []
    drawn = sorted(timm.list_models(), key=lambda name: sha256(name.encode()).digest())
    return [f"timm:{name}" for name in drawn[:_OF_TIMM]]


def small(kind: str) -> Any:
    """The configuration of a model type with two layers, also in its parts, if its constructor
    accepts them; otherwise its default configuration.
    """
    from transformers import AutoConfig

    config = AutoConfig.for_model(kind)
    try:
        return AutoConfig.for_model(kind, **_shallow(config))
    except Exception:
        return config


def _shallow(config: Any) -> dict[str, Any]:
    """Arguments of a configuration's constructor that give it two layers."""
    from transformers import PretrainedConfig

    arguments: dict[str, Any] = {}
    for name, value in vars(config).items():
        if isinstance(value, PretrainedConfig):
            arguments[name] = {"model_type": value.model_type, **_shallow(value)}
        elif name in _DEPTHS and isinstance(value, int) and value > _LAYERS:
            arguments[name] = _LAYERS
    return arguments


def run(case: Case) -> dict[str, str]:
    """The answer to one case and its text: "predicted", "not built", "no inputs", "fails in torch",
    "refused" or "crashed"."""
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        spec = case.kind if case.kind.startswith("timm:") else f"hf:{folder}"
        try:
            if spec != case.kind:
                small(case.kind).save_pretrained(folder)
        except Exception as error:
            return _answer(case, "not built", f"{type(error).__name__}: {error}")
        try:
            network = load(spec, batch=2, training=case.phase == "training")
        except InputError as error:
            state = "no inputs" if "cannot be made from" in str(error) else "not built"
            return _answer(case, state, str(error).replace(folder, ""))
        except Exception as error:
            return _answer(case, "crashed", _where(error))
        try:
            p = predict(network.module, network.args, network.kwargs, phase=case.phase)
        except InputError as error:
            failure = failure_in_torch(network, case.phase)
            state = "fails in torch" if failure and failure in str(error) else "refused"
            return _answer(case, state, str(error))
        except Exception as error:
            return _answer(case, "crashed", _where(error))
    if not (math.isfinite(p.period_s) and p.period_s > 0):
        return _answer(case, "crashed", f"period_s is {p.period_s}")
    return _answer(case, "predicted", ", ".join(sorted(p.unmodelled)))


def failure_in_torch(network: Any, phase: str) -> str:
    """The line at which the network's forward pass fails in torch itself, or the error's text if no
    line of the network fails; an empty string if the pass ends.

    Tensors have no data. A pass that reads data runs again with weights and inputs, if the weights
    are not too large.
    """
    with FakeTensorMode(allow_non_fake_inputs=True):
        module = network.module.to_empty(device="cpu")
        error = _error_of(module, network, phase, torch.empty_like)
    size = sum(each.numel() * each.element_size() for each in network.module.parameters())
    if isinstance(error, DataDependentOutputException) and size < _MOST_BYTES:
        real = type(network.module)(network.module.config)
        error = _error_of(real, network, phase, torch.ones_like)
    if error is None:
        return ""
    line = line_of(error)
    return f"{type(error).__name__}: {error}" if Path(__file__).name in line else line


def _error_of(
    module: torch.nn.Module, network: Any, phase: str, made: Callable[..., torch.Tensor]
) -> Exception | None:
    """The error of a forward pass on inputs that `made` creates, or None."""
    args, kwargs = tree_map_only(
        torch.Tensor, lambda t: made(t, device="cpu"), (network.args, network.kwargs)
    )
    try:
        with torch.no_grad():
            module.train(phase == "training")(*args, **kwargs)
    except Exception as error:
        return error
    return None


def _answer(case: Case, state: str, text: str) -> dict[str, str]:
    return {"key": case.key, "state": state, "text": text[:400]}


def _where(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} at {Path(last.filename).name}:{last.lineno}"


def _left(path: Path, shard: str, begins: str = "") -> Iterator[Case]:
    number, of = map(int, shard.split("/"))
    known = answered(path)
    return (
        c
        for c in cases()
        if int(c.part * of) == number and c.key not in known and c.kind.startswith(begins)
    )


def figure(path: Path) -> str:
    """The counts of all lines."""
    count = Counter(answer["state"] for answer in answered(path).values())
    run = count["predicted"] + count["refused"] + count["crashed"]
    return (
        f"{count['predicted']} of the {run} that torch runs are predicted "
        f"({count['predicted'] / max(1, run):.1%}), {count['refused']} refused, "
        f"{count['crashed']} crash; of the others {count['fails in torch']} fail in torch too, "
        f"{count['no inputs']} need inputs that no configuration describes, "
        f"{count['not built']} are not built; {len(cases())} in all"
    )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--shard", default="0/1", metavar="I/N")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--begins", default="", help="names that begin so, such as timm:")
    parser.add_argument("--record", action="store_true", help="write the row of tests/README.md")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    with options.results.open("a", encoding="utf-8") as file:
        for case in _left(options.results, options.shard, options.begins):
            if time.monotonic() > until:
                break
            file.write(json.dumps(run(case)) + "\n")
            file.flush()
    for answer in answered(options.results).values():
        if answer["state"] != "predicted":
            print(answer["key"], answer["state"], answer["text"], sep=": ")
    print(figure(options.results))
    if options.record:
        command = "python -m tests.reliability.networks RESULTS.jsonl"
        promises.write(
            "networks of transformers and timm are predicted", command, figure(options.results)
        )
    return int(any(a["state"] == "crashed" for a in answered(options.results).values()))


if __name__ == "__main__":
    sys.exit(main())
