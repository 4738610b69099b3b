"""The properties of a tensor that an op depends on."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import msgspec

ITEM_BYTES = {
    "float64": 8, "complex64": 8, "int64": 8, "complex128": 16, "uint64": 8,
    "float32": 4, "int32": 4, "uint32": 4,
    "complex32": 4, "float16": 2, "bfloat16": 2, "int16": 2, "uint16": 2,
    "int8": 1, "uint8": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1,
    "qint32": 4, "bits16": 2,
    "qint8": 1, "quint8": 1, "quint4x2": 1, "quint2x4": 1,
    "bits8": 1, "bits1x8": 1, "bits2x4": 1, "bits4x2": 1,
    **{f"{kind}{bits}": 1 for kind in ("int", "uint") for bits in range(1, 8)},
}  # fmt: skip
"""Bytes per element, by the dtype's name in torch without `torch.`."""


class Tensor(msgspec.Struct, frozen=True, gc=False):
    """A tensor as an op sees it. `stride` is in elements; `device` is "cuda" or "cpu"."""

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...]
    device: str = "cuda"

    @property
    def numel(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return ITEM_BYTES[self.dtype]

    @property
    def nbytes(self) -> int:
        """Distinct bytes touched: a dimension of stride 0 (an expanded one) is stored once."""
        stored = (size for size, step in zip(self.shape, self.stride, strict=True) if step != 0)
        return prod(stored) * self.itemsize

    @property
    def contiguous(self) -> bool:
        """Whether it is row-major without gaps; dimensions of size 1 may have any stride."""
        expected = 1
        for size, step in zip(reversed(self.shape), reversed(self.stride), strict=True):
            if size != 1 and step != expected:
                return False
            expected *= size
        return True

    @property
    def dense(self) -> bool:
        """Whether *some* order of dimensions, such as channels last, has no gaps or overlaps."""
        dims = sorted(
            (step, size) for size, step in zip(self.shape, self.stride, strict=True) if size != 1
        )
        steps = [*(step for step, _ in dims), self.numel]
        return (not dims or steps[0] == 1) and all(
            step * size == following
            for (step, size), (_, following) in zip(dims, pairwise(steps), strict=True)
        )


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
