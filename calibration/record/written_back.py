"""Measure how many written lines in L2 are written back while the next kernels read.

`python -m calibration.record.written_back FILE` times kernels on a CUDA GPU after a kernel that
filled L2 only by reading, and after one that filled it by writing. `figures` derives the constants
of `simulator.timing.terms` from it.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from simulator.hardware.gpu import GPU  # packages that a GPU machine may lack

FILE = Path(__file__).parents[1] / "measurements" / "h200_sxm" / "written_back.json.gz"
REPEATS = 7


@dataclass(frozen=True)
class Case:
    """One kernel: bytes read and moved, and seconds after a reading and after a writing kernel."""

    name: str
    read_bytes: int
    bytes: int
    clean_s: float
    dirty_s: float


def cases(path: Path | None = None) -> list[Case]:
    """Every measured kernel, with the medians over its repeats."""
    with gzip.open(path or FILE, "rt") as file:
        rows = json.load(file)["cases"]
    return [
        Case(name, row["read_bytes"], row["bytes"], *(float(np.median(row[k])) for k in _AFTER))
        for name, row in rows.items()
    ]


def figures(cases: list[Case], gpu: GPU, dram_reach: float) -> tuple[float, float]:
    """Bytes written back per byte read, from kernels that read less than L2 holds. Also the largest
    number of bytes written back, as a share of L2, from kernels that read more than twice its
    size."""
    l2_bytes = gpu.l2_bytes or 0
    rate = gpu.bandwidth_bytes_per_s * dram_reach
    extra = {c.name: max(0.0, c.dirty_s - c.clean_s) * rate for c in cases}
    small = [
        extra[c.name] / c.read_bytes for c in cases if 0.25 * l2_bytes < c.read_bytes < l2_bytes
    ]
    large = [
        extra[c.name] / (l2_bytes * c.read_bytes / c.bytes)
        for c in cases
        if c.read_bytes > 2 * l2_bytes
    ]
    return float(np.median(small)), float(np.median(large))


_AFTER = ("clean_s", "dirty_s")


def measure() -> dict[str, Any]:
    """Seconds of each kernel from the profiler, `REPEATS` times after each kind of flush."""
    # imported here, because reading the recording needs no torch
    import torch
    from torch.profiler import record_function

    from calibration.measure.instruments.gpu_events import gpu_events
    from calibration.record.profiled import kernels_by_op

    l2_bytes: int = cast("Any", torch.cuda).get_device_properties(0).L2_cache_size
    with torch.device("cuda"):
        read, filled = torch.randn(l2_bytes), torch.randn(l2_bytes)  # four times the size of L2
        flushes: tuple[Callable[[], object], ...] = (read.sum, lambda: filled.fill_(1.0))
        calls = list(_calls(torch))
        order = [(c, f) for c in range(len(calls)) for f in (0, 1) for _ in range(REPEATS)]

        def run() -> None:
            for number, (call, flush) in enumerate(order):
                flushes[flush]()
                with record_function(f"op{number}"):
                    calls[call][3]()

        run()
        rows = kernels_by_op(gpu_events(run), len(order))
    columns: dict[str, Any] = {
        name: {"read_bytes": read_bytes, "bytes": moved, "clean_s": [], "dirty_s": []}
        for name, read_bytes, moved, _ in calls
    }
    for (call, flush), kernels in zip(order, rows, strict=False):
        columns[calls[call][0]][_AFTER[flush]].append(sum(ns for _, ns in kernels) * 1e-9)
    about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "l2_bytes": l2_bytes}
    return {**about, "cases": columns}


def _calls(torch: Any) -> Iterator[tuple[str, int, int, Callable[[], object]]]:
    """Name, bytes read, bytes moved, and the call: linear layers of one row and of 16, sums,
    copies and additions."""
    half = {"dtype": torch.bfloat16}
    for rows in (1, 16):
        for outs, ins in ((2048, 4096), (8192, 1024), (8192, 2048), (14336, 4096), (28672, 4096)):
            x, w = torch.randn(rows, ins, **half), torch.randn(outs, ins, **half)
            read = 2 * (rows * ins + outs * ins)
            call = partial(torch.nn.functional.linear, x, w)
            yield f"linear {rows} {outs} {ins}", read, read + 2 * rows * outs, call
    for size in (2**22, 2**23, 2**24, 2**26, 2**27):
        x, y = torch.randn(size, **half), torch.randn(size, **half)
        yield f"sum {size}", 2 * size, 2 * size, x.sum
        yield f"copy {size}", 2 * size, 4 * size, x.clone
        yield f"add {size}", 4 * size, 6 * size, partial(torch.add, x, y)


if __name__ == "__main__":
    with gzip.open(sys.argv[1], "wt") as out:
        json.dump(measure(), out)
