"""Whole commands in processes of their own, in processor time: a neighbour's work hardly counts.

Beside the seconds stands their ratio to `python -c "import numpy"`, which the tests hold for some
of them (`tests/app/commands/test_command_time.py`): it is much the same on every machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
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
"""The commands, with the seconds of the wall clock that are asked on a quiet machine."""
_RUNS = 5


def commands() -> Iterator[Row]:
    """Each command after a first run that fills the caches."""
    unit_s = min(cpu_s(NUMPY) for _ in range(_RUNS))
    for command, asked_s in COMMANDS.items():
        arguments = ("-m", "app.cli", *command.split())
        cpu_s(arguments)
        walls: list[float] = []
        times: list[float] = []
        for _ in range(_RUNS):
            began = time.perf_counter()
            times.append(cpu_s(arguments))
            walls.append(time.perf_counter() - began)
        yield Row(
            f"ridgepoint {command}", asked_s, median(walls), median(times), _RUNS, 0,
            os.getloadavg()[0], f"{min(times) / unit_s:.1f} times `import numpy`",
        )  # fmt: skip


def cpu_s(arguments: Sequence[str]) -> float:
    """Processor seconds, of user and system, of Python with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
