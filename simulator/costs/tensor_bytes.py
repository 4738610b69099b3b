"""Bytes of long lists of tensors, most of which are the same few objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simulator.records import Signature, Tensor


def bytes_of(tensors: Iterable[Tensor]) -> list[int]:
    """`nbytes` of each tensor; a repeated object is measured once."""
    known: dict[int, int] = {}
    sizes: list[int] = []
    for tensor in tensors:
        size = known.get(id(tensor))
        if size is None:
            size = known[id(tensor)] = tensor.nbytes
        sizes.append(size)
    return sizes


def read_bytes_of(op: Signature) -> int:
    """`op.read_bytes`, for an op over long lists."""
    return _distinct_bytes(op.inputs, op.aliases[: len(op.inputs)])


def write_bytes_of(op: Signature) -> int:
    """`op.write_bytes`, for an op over long lists."""
    return _distinct_bytes(op.outputs, op.aliases[len(op.inputs) :])


def _distinct_bytes(tensors: Sequence[Tensor], regions: Sequence[int]) -> int:
    """Bytes of the distinct regions on the GPU, each as large as its largest tensor."""
    largest: dict[int, int] = {}
    sizes = bytes_of(tensors)
    for tensor, size, region in zip(tensors, sizes, regions or range(len(sizes)), strict=True):
        if tensor.device != "cpu" and size >= largest.get(region, 0):
            largest[region] = size
    return sum(largest.values())
