"""Imports of commands: packaged networks and data sheets need neither torch nor a window."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = "torch sympy scipy pandas transformers torchvision PySide6 pyqtgraph pydantic".split()
PROGRAM = """
import sys
from app.cli import app
app(sys.argv[1:], standalone_mode=False)
print("IMPORTED", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def imported(program: str, folder: Path, *arguments: str) -> set[str]:
    environment = {**os.environ, "RIDGEPOINT_TRACES": str(folder)}
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert not list(folder.iterdir())  # a trace on disk would show that the command traced
    return set(ran.stdout.splitlines()[-1].split()[1:])


COMMANDS = (
    "--help",
    "gpus",
    "gpus h100",
    "hosts",
    "hosts grace",
    "networks",
    "predict bert-base",
    "predict llama3-8b --train --gpu h100",
    "predict gpt2 --mode compiled",
    "whatif bert-base +cuda_graph +precision=fp16",
    "compare bert-base --with +gpu=h100",
    "sweep bert-base",
    "map bert-base",
    "seek bert-base --fits",
)
ONE_AFTER_ANOTHER = """
import json, sys
from app.cli import app
added, before = {}, set()
for command in json.loads(sys.argv[1]):
    app(command.split(), standalone_mode=False)
    now = {name.partition(".")[0] for name in sys.modules}
    added[command], before = sorted(now - before), now
print(json.dumps(added))
"""


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The packages that each command adds to those of the commands before it, in one process."""
    folder = tmp_path_factory.mktemp("traces")
    ran = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_ANOTHER, json.dumps(COMMANDS)],
        capture_output=True,
        text=True,
        env={**os.environ, "RIDGEPOINT_TRACES": str(folder)},
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert not list(folder.iterdir())  # a trace on disk would show that a command traced
    return json.loads(ran.stdout.splitlines()[-1])


def test_the_first_command_loads_the_app_and_a_prediction_the_simulator(
    added: dict[str, list[str]],
) -> None:
    assert "app" in added["--help"] and "msgspec" in {
        name for names in added.values() for name in names
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_a_packaged_network_needs_nothing_heavy(command: str, added: dict[str, list[str]]) -> None:
    assert set(added[command]).isdisjoint(HEAVY)


def test_a_plain_prediction_loads_no_what_if_and_no_compiler(tmp_path: Path) -> None:
    program = PROGRAM.replace('name.partition(".")[0]', "name")
    loaded = imported(program, tmp_path, "predict", "bert-base")
    others = {
        *("simulator.whatif", "simulator.inductor", "simulator.analysis", "simulator.measured"),
        *("simulator.fusion.passes", "simulator.fusion.scheduling.partition"),
        "importlib.metadata",
    }
    assert sorted(loaded & others) == []


def test_a_step_that_is_not_packaged_names_torch(tmp_path: Path) -> None:
    program = "import sys; sys.modules['torch'] = None; from app.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", program, "predict", "bert-base", "--size", "layers=3"],
        capture_output=True,
        text=True,
        env={**os.environ, "RIDGEPOINT_TRACES": str(tmp_path)},
        timeout=300,
    )
    assert ran.returncode == 2
    assert ran.stderr == (
        "error: torch is not installed, and this step must be traced: expected torch, a saved "
        "trace, or a network of `ridgepoint networks` with its own sizes; pip install "
        '"torch>=2.11,<2.14"\n'
    )


@pytest.mark.parametrize(
    ("command", "most"),
    [
        ("--help", 185),  # 160
        ("networks", 480),  # 441
        ("predict bert-base", 645),  # 589
    ],
)
def test_importtime_lists_no_more_modules_than_the_budget(
    command: str, most: int, tmp_path: Path
) -> None:
    """Most of a short command's time is imports. Their number is the same on every machine."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "app.cli", *command.split()],
        capture_output=True,
        text=True,
        env={**os.environ, "RIDGEPOINT_TRACES": str(tmp_path)},
        timeout=300,
    )
    lines = [line for line in ran.stderr.splitlines() if line.startswith("import time:")]
    modules = [line.rpartition("|")[2].strip() for line in lines[1:]]
    assert "app" in modules
    own = [name for name in modules if name.startswith(("app", "simulator"))]
    assert len(modules) <= most, own


def test_a_bundle_does_not_suggest_packages_that_it_cannot_use(tmp_path: Path) -> None:
    program = "import sys; sys.modules['torch'] = None; sys.frozen = True; "
    ran = subprocess.run(
        [
            *(sys.executable, "-c", f"{program}from app.cli import main; main()"),
            *("predict", "bert-base", "--size", "layers=3"),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "RIDGEPOINT_TRACES": str(tmp_path)},
        timeout=300,
    )
    assert ran.returncode == 2
    assert ran.stderr == (
        "error: this step must be traced, which needs torch, and this bundle does not contain "
        "torch: expected a saved trace, or a network of `ridgepoint networks` with its own sizes; "
        'for other steps: pip install "ridgepoint[gui]"\n'
    )
