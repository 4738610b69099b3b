"""The coordinates of works among measured kernels: their sizes and choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.varying import anywhere, in_column

Floats = NDArray[np.float64]

_TILES = ((128, 128), (128, 256), (64, 64))
_NUMBERS, _LISTS = (int, float), (tuple, list)
_SIZES = (*_NUMBERS, *_LISTS)


def coordinates(
    works: Sequence[Work],
    hot: float,
    names: Sequence[str],
    units: int,
    counts: Sequence[int] | None = None,
) -> Floats:
    """Coordinates of these works, [works, names], with the share `hot` of their bytes in L2. With
    `counts`, the number of points of each work, a row is a point."""
    column = {name: place for place, name in enumerate(names)}
    used = column.__contains__
    rows: Sequence[int | slice] = range(len(works))
    if counts is not None:
        rows = [
            slice(end - count, end) for end, count in zip(accumulate(counts), counts, strict=True)
        ]
    # the logarithm of 1 is 0, as for an absent size
    table = np.ones((len(works) if counts is None else sum(counts), len(names)))
    for row, work in zip(rows, works, strict=True):
        for name, size in _sizes(work, used):
            table[row, column[name]] = size
    np.log2(table, out=table)
    for row, work in zip(rows, works, strict=True):
        for name, value in _choices(work, units, used):
            table[row, column[name]] = value
    if "hot" in column:
        table[:, column["hot"]] = hot
    return table


def features(work: Work, units: int) -> dict[str, Any]:
    """A work's coordinates by name: sizes as binary logarithms, choices as 0 or 1, and for a
    product the fullness of its last wave of tiles on `units` units. Values are numbers, or arrays
    for a work at many points. `hot` is not among them."""
    sizes = {name: np.log2(size) for name, size in _sizes(work, lambda _: True)}
    return sizes | dict(_choices(work, units, lambda _: True))


def _sizes(work: Work, used: Callable[[str], bool]) -> Iterator[tuple[str, Any]]:
    """The coordinates of a work that are `used` and are logarithms, before the logarithm."""
    size = in_column(work.bytes) + 1
    if used("bytes"):
        yield "bytes", size
    if used("flops per byte"):
        yield "flops per byte", (in_column(work.flops) + 1) / size
    if used("instructions per byte"):
        yield "instructions per byte", (in_column(work.instructions) + 1) / size
    for name, value in work.dims.items():
        if isinstance(value, bool) or not used(name):
            continue
        if isinstance(value, _NUMBERS):
            yield name, in_column(value) + 1
        elif isinstance(value, _LISTS):
            sizes = cast("Sequence[Any]", value)
            yield name, prod(1.0 * in_column(one) for one in sizes) + 1
    if used("bytes per element") and anywhere(work.dims.get("elements", 0)):
        yield "bytes per element", size / in_column(work.dims["elements"])


def _choices(work: Work, units: int, used: Callable[[str], bool]) -> Iterator[tuple[str, Any]]:
    """The other coordinates of a work that are `used`."""
    if used(f"dtype {work.dtype}"):
        yield f"dtype {work.dtype}", 1.0
    for name, value in work.dims.items():
        if isinstance(value, bool):
            if used(name):
                yield name, float(value)
        elif not isinstance(value, _SIZES) and value is not None and used(f"{name} {value}"):
            yield f"{name} {value}", 1.0
    if work.family != "gemm":
        return
    for high, wide in _TILES:
        if used(f"waves of {high}×{wide}"):
            b, m, n = (in_column(work.dims[name]) for name in "bmn")
            waves = b * -(-m // high) * -(-n // wide) / units
            fullness = np.where(waves > 1, np.ceil(waves) / np.maximum(waves, 1), 1.0)
            yield f"waves of {high}×{wide}", fullness
