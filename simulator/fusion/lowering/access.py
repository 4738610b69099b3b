"""The offset and the order in which a loop reads a value, as in Inductor's `MemoryDep`. Two loops
share a read only if they read the same elements in the same order (`score_fusion_memory` of
torch/_inductor/scheduler.py). A loop fuses with the preceding loop only if it reads in the order in
which that loop writes (`fusable_read_and_write`)."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from simulator.fusion.kinds import POOLS
from simulator.fusion.node import Key
from simulator.records import Op, Tensor, row_major

Map = tuple[Any, ...]
"""The order of a read: () for the order of memory, else a description that is equal for equal
orders."""

_MOVING = {
    "roll": "self", "flip": "self", "index": "self", "index_select": "self", "gather": "self",
    "embedding": "weight", "constant_pad_nd": "self", "reflection_pad2d": "self",
    "upsample_nearest2d": "self", "_upsample_nearest_exact2d": "self", "repeat": "self",
    "slice_backward": "grad_output", "select_backward": "grad_output",
    "_adaptive_avg_pool2d": "self", "im2col": "self",
    **dict.fromkeys(POOLS, "self"),
}  # fmt: skip
"""Ops whose elements are not computed from the operand's elements at the same place."""


_ONLY_SEEN = -1  # storage of a value that only the compiler sees; the version is the value's number


class Part(NamedTuple):
    """A read of a value that starts at an offset, or does not follow the order of memory."""

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
    """A key that is equal for all reads that begin at one address. It is the value, followed by the
    offsets of the read and of the ops that are computed between the value and the read, if any is
    not 0."""
    if not isinstance(key, Part):
        return key
    value = value_of(key)
    offsets = [key.offset, *(each for each in key.way if isinstance(each, int))]
    if not any(offsets):
        return value
    return (*value, *offsets) if isinstance(value, tuple) else value


def read(key: Key, offset: int, way: Map) -> Key:
    """The key of a read through a further offset and map, applied to `key`."""
    if not offset and not way:
        return key
    if isinstance(key, Part):
        before = key
    else:
        is_value = isinstance(key, tuple)
        storage, version = cast("tuple[int, Any]", key) if is_value else (_ONLY_SEEN, key)
        before = Part(storage, version, 0, ())
    return Part(before.storage, before.version, before.offset + offset, (*before.way, *way))


def moves(op: Op, place: int) -> bool:
    """Whether an op reads its input number `place` at other places than it writes."""
    return _MOVING.get(op.name.split(".")[1]) == op.signature.names[place]


def way(op: Op, place: int, tensor: Tensor, loop: bool) -> Map:
    """The map by which an op reads its input number `place`, whose layout is that of `tensor`: a
    loop reads in the order of its output's dimensions, a reduction in the order of its input's."""
    name = op.name.split(".")[1]
    if moves(op, place):
        return (("window" if name in POOLS else name, tensor.shape),)
    fits = loop and op.outputs and _broadcasts(tensor, op.outputs[0])
    steps = walk(tensor, op.outputs[0].shape if fits else tensor.shape)
    return ((name, place), *steps) if name == "cat" else steps


def reordered(key: Key, elements: int) -> tuple[Key, Map]:
    """Split the key of a read of `elements`, by a loop whose dimensions may be reordered. Return
    the key without the final walks that only permute all elements, and these walks."""
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
    """Whether a walk touches exactly `elements` elements, each once and without gaps."""
    step = 1
    for size, stride in sorted(pairs, key=lambda pair: pair[1]):
        if stride != step:
            return False
        step *= size
    return step == elements


def strides_apart(key: Key) -> bool:
    """Whether neighbours along the last dimension of a read are apart in memory."""
    pairs = [each for each in key.way if _is_pair(each)] if isinstance(key, Part) else []
    return bool(pairs) and pairs[-1][1] != 1


def first_adjacent(key: Key) -> bool:
    """Whether neighbours along the first dimension of a read are adjacent in memory."""
    pairs = [each for each in key.way if _is_pair(each)] if isinstance(key, Part) else []
    return bool(pairs) and pairs[0][1] == 1


def _is_pair(each: Any) -> bool:
    return isinstance(each, tuple) and all(
        isinstance(number, int) for number in cast("tuple[object, ...]", each)
    )


def _broadcasts(tensor: Tensor, out: Tensor) -> bool:
    return len(tensor.shape) <= len(out.shape) and all(
        a in (1, b) for a, b in zip(reversed(tensor.shape), reversed(out.shape), strict=False)
    )


def walk(tensor: Tensor, shape: tuple[int, ...]) -> Map:
    """Sizes and steps of a walk through a tensor in the order of the dimensions of `shape`, with
    adjacent dimensions joined; () if this is the order of memory."""
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


def relaid(tensor: Tensor, written: Tensor) -> Tensor:
    """A view of a loop's result, with the strides that it has if the result is row-major: eager
    kernels preserve the order of their inputs, but generated ones need not."""
    plain = row_major(written.shape)
    if written.stride == plain:
        return tensor
    dims = sorted(zip(written.stride, plain, written.shape, strict=True), reverse=True)

    def step(stride: int) -> int:
        for old, new, size in dims:
            if old and size > 1 and stride >= old and stride % old == 0:
                return stride // old * new
        return stride

    return Tensor(tensor.shape, tensor.dtype, tuple(map(step, tensor.stride)), tensor.device)
