"""The bytes that a read of a tensor moves: whole sectors, even if it needs only some of the
elements."""

from __future__ import annotations

from simulator.records import Tensor

SECTOR_BYTES = 32


def sector_bytes(tensor: Tensor) -> int:
    """Bytes of the sectors that hold the elements. With a smallest stride of 2, half of each sector
    is unused."""
    strides = [s for s, size in zip(tensor.stride, tensor.shape, strict=True) if size > 1 and s]
    if not strides or min(strides) <= 1:
        return tensor.nbytes
    apart_bytes = min(min(strides) * tensor.itemsize, max(SECTOR_BYTES, tensor.itemsize))
    return tensor.nbytes // tensor.itemsize * apart_bytes
