"""A plan over all GPUs as a whole command, and the time until its first candidates.

Processor seconds are those of all processes. On an idle machine with two cores, the wall time is
near half of them; with other load it is longer.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.timing import Row

SPEC = """
[workload]
kind = "serving"
network = "llama3-8b"
prompt = 1024
output = 300

[load]
rate = "20/s"

[limits]
per_token = "50 ms"
first_token = "1 s"
percentile = 99

[candidates]
gpus = "all"
counts = [1, 2, 4, 8]
engines = ["eager", "compiled+graph", "vllm"]
precisions = ["bf16", "fp8", "int8", "int4"]
"""
WHOLE_S, FIRST_S = 30.0, 3.0
"""Required wall time in seconds, on two cores."""
_FIRST = """
import sys
from simulator.planning import plan
from simulator.scenario import trace_source
def so_far(rows):
    if rows:
        print(len(rows), flush=True)
        sys.exit()
trace_source.keep_on_disk()
plan(sys.argv[1], so_far=so_far)
"""


def plans() -> Iterator[Row]:
    """Time the command with two workers, and a process that ends at its first candidates."""
    with tempfile.TemporaryDirectory() as folder:
        spec, answer = Path(folder) / "all.toml", Path(folder) / "all.json"
        spec.write_text(SPEC)
        first = (sys.executable, "-c", _FIRST, str(spec))
        whole = (sys.executable, "-m", "app.cli", "plan", str(spec), "--workers", "2")
        yield _timed("plan of all GPUs: first candidates", FIRST_S, first)
        row = _timed("ridgepoint plan: all GPUs", WHOLE_S, (*whole, "--json", str(answer)))
        written = json.loads(answer.read_text())
        yield row._replace(
            note=f"{len(written['rows']):,} candidates, {len(written['pruned']):,} pruned"
        )


def _timed(figure: str, required_s: float, command: tuple[str, ...]) -> Row:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall_s = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Row(figure, required_s, wall_s, cpu_s, 1, 0, os.getloadavg()[0])
