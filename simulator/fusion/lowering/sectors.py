"""What reading a tensor moves: whole sectors, though only some of their elements are wanted."""

from __future__ import annotations

from simulator.records import Tensor

SECTOR_BYTES = 32


def sector_bytes(tensor: Tensor) -> int:
    """Bytes of the sectors in which the elements lie. Elements whose nearest neighbours are two
    apart share a sector with as many others."""
    strides = [s for s, size in zip(tensor.stride, tensor.shape, strict=True) if size > 1 and s]
    if not strides or min(strides) <= 1:
        return tensor.nbytes
    apart_bytes = min(min(strides) * tensor.itemsize, max(SECTOR_BYTES, tensor.itemsize))
    return tensor.nbytes // tensor.itemsize * apart_bytes
