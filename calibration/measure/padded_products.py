"""Measure products with odd sizes, the same with padded operands, and the concatenations that pad.

`python -m calibration.measure.padded_products FILE` on a machine with a GPU writes a line of JSON
per dtype and shape. The second operand is a transposed weight (`mm_us`, `cat_turned_us`) or a
matrix of contiguous rows (`mm_nn_us`, `cat_us`); `cat_a_us` pads the first operand. Times are
medians in microseconds, each launch with an L2 that holds other data. A padding time of 1.3 µs
means that the operand needs no padding.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch

SHAPES = (
    (2048, 1280, 246534), (512, 1280, 246534), (1024, 1664, 250300), (128, 768, 32005),
    (128, 768, 50265), (4096, 768, 50257), (8192, 1024, 50257), (2048, 4096, 32003),
    (512, 1000, 4097), (2048, 2048, 2049), (4096, 1023, 4096), (8192, 511, 2047),
)  # fmt: skip
"""Rows, depth and columns: heads of language models, and sizes next to multiples of 8."""
_WORD_BYTES = 16
_RUNS, _FLUSH_BYTES = 12, 256 << 20


def microseconds(run: Callable[[], Any]) -> float:
    """The median time of a call, with an L2 that holds other data."""
    for _ in range(3):
        run()
    flush = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device="cuda")
    times: list[float] = []
    for _ in range(_RUNS):
        flush.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return median(times)


def widened(x: torch.Tensor, rows: bool, columns: bool) -> torch.Tensor:
    """`x`, padded with zeros to whole 16-byte words as in Inductor's benchmark."""
    word = _WORD_BYTES // x.element_size()
    for dim, pads in enumerate((rows, columns)):
        rest = -x.shape[dim] % word if pads else 0
        if rest:
            zeros = x.new_zeros((rest, x.shape[1]) if dim == 0 else (x.shape[0], rest))
            x = torch.cat([x, zeros], dim)
    return x


def measured(dtype: torch.dtype, m: int, k: int, n: int) -> dict[str, Any]:
    """The times of one shape."""
    a = torch.randn(m, k, device="cuda", dtype=dtype)
    turned = torch.randn(n, k, device="cuda", dtype=dtype).t()
    bias, rows = torch.randn(n, device="cuda", dtype=dtype), turned.contiguous()
    wide_a, wide = widened(a, True, True), widened(turned, True, True)
    wide_bias = torch.randn(wide.shape[1], device="cuda", dtype=dtype)
    calls: dict[str, Callable[[], Any]] = {
        "mm_us": lambda: torch.mm(a, turned),
        "addmm_us": lambda: torch.addmm(bias, a, turned),
        "mm_nn_us": lambda: torch.mm(a, rows),
        "cat_turned_us": lambda: widened(turned, True, True),
        "cat_us": lambda: widened(rows, True, True),
        "cat_a_us": lambda: widened(a, True, True),
        "mm_padded_us": lambda: torch.mm(wide_a, wide),
        "addmm_padded_us": lambda: torch.addmm(wide_bias, wide_a, wide),
    }
    return {name: microseconds(run) for name, run in calls.items()}


def main() -> None:
    """Measure every dtype and shape."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    with options.file.open("w") as out:
        for dtype in (torch.bfloat16, torch.float16, torch.float32):
            for m, k, n in SHAPES:
                row = {"dtype": str(dtype).removeprefix("torch."), "m": m, "k": k, "n": n}
                row |= {"gpu": torch.cuda.get_device_name(), **measured(dtype, m, k, n)}
                print(json.dumps(row), file=out, flush=True)
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
