"""A convolution as the matrix product that it is, of patches that are never stored."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from simulator.costs import Work
from simulator.hardware import GPU
from simulator.lowering.layouts import ALIGNED, images
from simulator.records import Signature, Tensor

_UNITS_SEEN = 132


@dataclass(frozen=True)
class Product:
    """One direction: `rows` × `depth` with `depth` × `columns`, for each group.

    `blocks` counts tiles of 128 × 128, in units of the GPU that the rules were read off: a GPU
    with half the units fills up with half the tiles.
    """

    work: Work
    direction: str
    sources: tuple[Tensor, Tensor]
    target: Tensor
    rows: int
    columns: int
    depth: int
    blocks: float
    half: bool
    hopper: bool
    unit: bool
    strided: bool
    few: bool

    @property
    def adds(self) -> int:
        """Multiply-adds."""
        return self.work.flops // 2

    @property
    def counted(self) -> bool:
        """Do tiles come from a counter? Hopper's kernels stay, and take tile after tile, where
        there are many waves of them, or a second one that is nearly empty."""
        waves = self.blocks / _UNITS_SEEN
        uneven = self.direction == "wgrad" and 1 < waves < 1.25
        return self.hopper and not self.few and (waves > 2.25 or uneven)


def product(op: Signature, work: Work, gpu: GPU) -> Product:
    """One direction of a convolution, its dims being those of the one that isn't transposed."""
    d: dict[str, Any] = work.dims
    direction, groups, taps = d["direction"], d["groups"], prod(d["kernel"])
    cin, cout = d["cin"] // groups, d["cout"] // groups
    before, after = d["n"] * prod(d["spatial_in"]), d["n"] * prod(d["spatial_out"])
    rows, columns, depth = {
        "fwd": (after, cout, cin * taps),
        "dgrad": (before, cin, cout * taps),
        "wgrad": (cout, cin * taps, after),
    }[direction]
    (x, grad), weight = images(op), op["weight"]
    if grad is None:
        sources, target = (x, weight), op.out
    else:
        sources, target = ((grad, x), weight) if direction == "wgrad" else ((grad, weight), x)
    blocks = groups * ceil(rows / 128) * ceil(columns / 128)
    return Product(
        work, direction, sources, target, rows, columns, depth,
        blocks=blocks * _UNITS_SEEN / (gpu.units or _UNITS_SEEN),
        half=work.dtype in ("float16", "bfloat16"),
        hopper=(gpu.compute_capability or (0, 0)) >= (9, 0),
        unit=taps == 1,
        strided=prod(d["stride"]) > 1,
        few=d["cin"] < ALIGNED,
    )  # fmt: skip
