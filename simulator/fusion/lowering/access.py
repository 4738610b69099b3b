"""In which order and where a loop reads a value: what Inductor's `MemoryDep` says of an index.
Loops share a read only where both read the same elements in the same order (`score_fusion_memory`
of torch/_inductor/scheduler.py), and a loop joins the one before it only where it reads in the
order in which that writes (`fusable_read_and_write`)."""

from __future__ import annotations

from typing import Any, NamedTuple

from simulator.fusion.node import Key
from simulator.records import Op, Tensor, row_major

Map = tuple[Any, ...]
"""() for the order of memory; otherwise a description that is equal for equal orders."""

_MOVING = {
    "roll": "self", "flip": "self", "index": "self", "index_select": "self", "gather": "self",
    "embedding": "weight", "constant_pad_nd": "self", "reflection_pad2d": "self",
    "upsample_nearest2d": "self", "_upsample_nearest_exact2d": "self", "repeat": "self",
    "slice_backward": "grad_output", "select_backward": "grad_output",
}  # fmt: skip
"""Ops whose elements are not computed from the operand's elements at the same place."""


_ONLY_SEEN = -1  # the storage of what only the compiler sees; its version is the number


class Part(NamedTuple):
    """A read of a value otherwise than whole and in the order of memory: from an offset, by a
    map."""

    storage: int
    version: int
    offset: int
    way: Map


def value_of(key: Key) -> Key:
    """The value that a key reads."""
    if not isinstance(key, Part):
        return key
    return key.version if key.storage == _ONLY_SEEN else (key.storage, key.version)


def region_of(key: Key) -> Key:
    """The same for all reads that begin at one place: a value, or one with the offsets behind it,
    of the read and of what was computed on the way to it."""
    if not isinstance(key, Part):
        return key
    value = value_of(key)
    offsets = [key.offset, *(each for each in key.way if isinstance(each, int))]
    if not any(offsets):
        return value
    return (*value, *offsets) if isinstance(value, tuple) else value


def read(key: Key, offset: int, way: Map) -> Key:
    """The key of a read of what `key` reads, another offset and map on top."""
    if not offset and not way:
        return key
    if isinstance(key, Part):
        before = key
    else:
        storage, version = key if isinstance(key, tuple) else (_ONLY_SEEN, key)
        before = Part(storage, version, 0, ())
    return Part(before.storage, before.version, before.offset + offset, (*before.way, *way))


def way(op: Op, place: int, tensor: Tensor, loop: bool) -> Map:
    """How op reads its input number `place`, which lies as `tensor` says: a loop in the order of
    its output's dimensions, a reduction in that of its input's own."""
    name = op.name.split(".")[1]
    if _MOVING.get(name) == op.signature.names[place]:
        return ((name, tensor.shape),)
    fits = loop and op.outputs and _broadcasts(tensor, op.outputs[0])
    steps = walk(tensor, op.outputs[0].shape if fits else tensor.shape)
    return ((name, place), *steps) if name == "cat" else steps


def reordered(key: Key, elements: int) -> tuple[Key, Map]:
    """A read of `elements` by a loop whose dimensions may be put in another order: the read without
    the walks at its end that but permute all elements, and these."""
    if not isinstance(key, Part):
        return key, ()
    at = len(key.way)
    while at:
        begin = at
        while begin and _is_pair(key.way[begin - 1]):
            begin -= 1
        first = begin - 1 if begin and key.way[begin - 1] == 0 else begin
        if begin == at or (first == begin and begin) or not _permutes(key.way[begin:at], elements):
            break
        at = first
    if not at and not key.offset:
        return value_of(key), key.way
    return key._replace(way=key.way[:at]), key.way[at:]


def _permutes(pairs: Map, elements: int) -> bool:
    """Does a walk touch this many elements, each once and without gaps?"""
    step = 1
    for size, stride in sorted(pairs, key=lambda pair: pair[1]):
        if stride != step:
            return False
        step *= size
    return step == elements


def strides_apart(key: Key) -> bool:
    """Does a read go through memory with its last dimension apart?"""
    pairs = [each for each in key.way if _is_pair(each)] if isinstance(key, Part) else []
    return bool(pairs) and pairs[-1][1] != 1


def _is_pair(each: Any) -> bool:
    return isinstance(each, tuple) and all(isinstance(number, int) for number in each)


def _broadcasts(tensor: Tensor, out: Tensor) -> bool:
    return len(tensor.shape) <= len(out.shape) and all(
        a in (1, b) for a, b in zip(reversed(tensor.shape), reversed(out.shape), strict=False)
    )


def walk(tensor: Tensor, shape: tuple[int, ...]) -> Map:
    """Sizes and steps of a walk through a tensor in the order of the dimensions of `shape`, those
    that follow one another joined; () where that is memory's own order."""
    missing = len(shape) - len(tensor.shape)
    steps: list[tuple[int, int]] = []
    for size, step in zip(
        (*(1,) * missing, *tensor.shape), (*(0,) * missing, *tensor.stride), strict=True
    ):
        if size == 1 or step == 0:
            continue
        if steps and steps[-1][1] == size * step:
            steps[-1] = steps[-1][0] * size, step
        else:
            steps.append((size, step))
    if not steps or (len(steps) == 1 and steps[0][1] == 1):
        return ()
    return tuple(steps)


def relaid(tensor: Tensor, made: Tensor) -> Tensor:
    """A view of what a loop made, with steps through memory that is row-major: eager kernels keep
    the order of what they read, generated ones need not."""
    plain = row_major(made.shape)
    if made.stride == plain:
        return tensor
    dims = sorted(zip(made.stride, plain, made.shape, strict=True), reverse=True)

    def step(stride: int) -> int:
        for old, new, size in dims:
            if old and size > 1 and stride >= old and stride % old == 0:
                return stride // old * new
        return stride

    return Tensor(tensor.shape, tensor.dtype, tuple(map(step, tensor.stride)), tensor.device)
