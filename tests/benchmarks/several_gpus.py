"""A step over several GPUs: its first trace, what-ifs once it is traced, and the search for splits.
Each first trace runs in a separate process, including the import of torch, with its peak memory.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from simulator.cluster import cluster
from simulator.cluster.layout import layout
from simulator.cluster.step import NetworkStep
from simulator.parallel.predict_step import predict_network
from simulator.parallel.split_search import search_splits
from simulator.parallel.whatifs import ClusterStep, changed
from tests.benchmarks.timing import Row, timed

LLAMA_8B = NetworkStep("llama3-8b", batch=1, dtype="bf16", training=True)
LLAMA_70B = NetworkStep("llama3-70b", batch=8, dtype="bf16", training=True)
_ALL_GPUS = 64
FIRST = {
    "llama3-8b over 8 GPUs, fsdp": (LLAMA_8B, "8xh200", "fsdp", 6.0),
    "llama3-8b over 8 GPUs, ddp": (LLAMA_8B, "8xh200", "ddp", 6.0),
    "llama3-70b over 64 GPUs, tp 8, pp 4, dp 2": (
        LLAMA_70B,
        "64xh100-ib",
        "tp=8 pp=4 dp=2 ddp",
        20.0,
    ),
}
"""Steps to trace, with the required time in seconds."""
_SPLITS = "the search over all splits of 64 GPUs"
_WHAT_IFS = {
    "fsdp": {"link_speed": (2, 3, 4, 5, 6), "dp": (4, 2)},
    "ddp": {"link_speed": (2, 3, 4, 5, 6), "dp": (4, 2, 6, 3, 5), "bucket": (50, 75, 100, 150, 9)},
}


def several_gpus() -> Iterator[Row]:
    """Time the traces, then the what-ifs, then the search."""
    for figure, (_, _, _, required_s) in FIRST.items():
        yield _alone(figure, required_s)
    for text, values in _WHAT_IFS.items():
        machine = cluster("8xh200")
        question = ClusterStep(LLAMA_8B, layout(text, machine), machine)
        question.predict()
        for name, numbers in values.items():
            yield timed(
                f"llama3-8b over 8 GPUs, {text}: again after +{name}",
                lambda i, q=question, n=name, all_=numbers: _again(q, f"{n}={all_[i]}"),
                len(numbers),
                0.1,
            )
    yield _alone(_SPLITS, 90.0)


def _again(question: ClusterStep, what_if: str) -> None:
    changed(question, what_if).predict()


def _alone(figure: str, required_s: float) -> Row:
    """Time one figure in a separate process."""
    words = [sys.executable, "-m", "tests.benchmarks.several_gpus", figure]
    wall = time.perf_counter()
    ran = subprocess.run(words, check=True, capture_output=True, text=True)
    wall = time.perf_counter() - wall
    cpu_s, note = json.loads(ran.stdout.splitlines()[-1])
    return Row(f"{figure}: nothing traced", required_s, wall, cpu_s, 1, 0, os.getloadavg()[0], note)


def _main(figure: str) -> None:
    if figure == _SPLITS:
        shares: list[float] = []
        step = NetworkStep("llama3-70b", _ALL_GPUS, dtype="bf16", training=True)
        splits = search_splits(
            step, cluster("64xh100-ib"), progress=lambda text, share: shares.append(share)
        )
        note = f"{len(splits.ranked)} ranked, {len(splits.pruned)} pruned, {len(shares)} reports, "
    else:
        step, where, text, _ = FIRST[figure]
        note = f"period {predict_network(step, text, where).period_s:.3g} s, "
    used = resource.getrusage(resource.RUSAGE_SELF)
    note += f"{used.ru_maxrss / 2**20:.2f} GiB at the peak"
    print(json.dumps([used.ru_utime + used.ru_stime, note]))


if __name__ == "__main__":
    _main(sys.argv[1])
