"""Processor time of whole commands in separate processes; other load hardly changes it. It also
prints their ratio to `python -c "import numpy"`, which is nearly the same on every machine; tests
bound it for some commands (`tests/app/commands/test_command_time.py`).
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median

from tests.benchmarks.timing import Row

NUMPY = ("-c", "import numpy")
COMMANDS = {
    "--help": 0.12,
    "gpus": float("nan"),
    "predict bert-base": 0.6,
    "predict llama3-8b --train": 0.6,
    "whatif bert-base +cuda_graph": 0.7,
    "compare bert-base --with +gpu=h100": float("nan"),
    "sweep bert-base": float("nan"),
    "map bert-base": 1.5,
    "seek bert-base --fits": float("nan"),
    "advise gpt2 --train --dtype autocast": 2.5,
}
"""The commands, with the wall time in seconds that each must reach on an idle machine."""
OWN = """import torch


def make():
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 6), (torch.empty(8, 128, 512),)
"""
"""A user's network: traced in the first run, then read from the disk."""
PEAK = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
_RUNS = 5


def commands() -> Iterator[Row]:
    """Time each command with nothing stored, after a first run that compiles the modules, and a
    command on a user's network.
    """
    unit_s = min(cpu_s(NUMPY) for _ in range(_RUNS))
    for command, required_s in COMMANDS.items():
        with _empty_cache() as environment:
            cpu_s(_ridgepoint(command), environment)
        yield _row(f"ridgepoint {command}", _ridgepoint(command), required_s, unit_s)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "own.py").write_text(OWN, "utf-8")
        own = _ridgepoint(f"predict {folder}/own.py:make")
        traces = {**os.environ, "RIDGEPOINT_TRACES": f"{folder}/traces"}
        yield _row("predict a user's own network, nothing stored", own, 2.5, unit_s)
        cpu_s(own, traces)
        yield _row("predict a user's own network, again", own, 0.5, unit_s, traces)


def _row(
    figure: str,
    arguments: Sequence[str],
    required_s: float,
    unit_s: float,
    environment: Mapping[str, str] | None = None,
) -> Row:
    """Time a command; without an environment, nothing is stored when a run begins."""
    walls: list[float] = []
    times: list[float] = []
    for _ in range(_RUNS):
        with nullcontext(environment) if environment else _empty_cache() as given:
            began = time.perf_counter()
            times.append(cpu_s(arguments, given))
            walls.append(time.perf_counter() - began)
    with nullcontext(environment) if environment else _empty_cache() as given:
        peak_mib = _peak_mib(arguments, given)
    note = f"{min(times) / unit_s:.1f} times `import numpy`, {peak_mib:.0f} MiB"
    load = os.getloadavg()[0]
    return Row(figure, required_s, median(walls), median(times), _RUNS, 0, load, note)


@contextmanager
def _empty_cache() -> Generator[Mapping[str, str]]:
    """The environment of a command whose folder of traces is new and empty."""
    with tempfile.TemporaryDirectory() as folder:
        yield {**os.environ, "RIDGEPOINT_TRACES": folder}


def _ridgepoint(command: str) -> tuple[str, ...]:
    return ("-m", "app.cli", *command.split())


def _peak_mib(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """Peak memory, in MiB, of Python with these arguments. Another process starts it: a child of
    the benchmark begins as a copy of the benchmark and would count its memory.
    """
    command = [sys.executable, "-c", PEAK, sys.executable, *arguments]
    run = subprocess.run(command, check=True, capture_output=True, env=environment)
    return int(run.stdout) / 1024


def cpu_s(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """Processor seconds (user and system) of Python with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
