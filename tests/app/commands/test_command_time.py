"""Processor time of short commands over that of `python -c "import numpy"`.

The ratio is nearly the same on every machine. It is measured up to six times, and one measurement
within the bound is enough: a slower command is slow every time, while the load from other processes
varies.
"""

import os
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="Windows does not report the time of child processes")

from tests.benchmarks.commands import NUMPY, cpu_s

ROUNDS = 6


@pytest.fixture(scope="module")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bytecode folder, since Python may not be allowed to write bytecode next to the sources."""
    return tmp_path_factory.mktemp("bytecode")


@pytest.mark.parametrize(("command", "most"), [
    ("--help", 1.4),  # 0.8
    ("predict bert-base", 6.5),  # 4.7
    ("predict llama3-8b --train", 8.5),  # 6.4
    ("whatif bert-base +cuda_graph", 6.5),  # 4.7
    # 15; it would be 52 if torch traced some of the what-ifs
    ("advise gpt2 --train --dtype autocast", 26.0),
])  # fmt: skip
def test_a_command_takes_a_few_times_as_long_as_an_import(
    command: str, most: float, bytecode: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIDGEPOINT_TRACES", str(tmp_path))
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(bytecode))
    unit_s, taken_s = [], []
    for _ in range(ROUNDS):
        unit_s.append(cpu_s(NUMPY))
        taken_s.append(cpu_s(("-m", "app.cli", *command.split())))
        if min(taken_s) <= most * min(unit_s):
            return
    raise AssertionError(
        f"`ridgepoint {command}` takes {min(taken_s) / min(unit_s):.1f} times as long as `import "
        f"numpy`: expected at most {most}"
    )
