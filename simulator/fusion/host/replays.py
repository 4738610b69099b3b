"""A compiled step as torch's CUDA graph trees run it (torch/_inductor/cudagraph_trees.py): the
captured ops, the launches between graphs, and the copies before each replay.

A graph reads the addresses that it read when it was captured. Weights, buffers and results of other
graphs keep their addresses; inputs, and the gradient that starts a backward pass, are copied into
the graph's own memory (`_copy_inputs_and_remove_from_src`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.fusion.fused import Fused, Replays
from simulator.fusion.graphs import graphs
from simulator.fusion.group import Group
from simulator.fusion.node import Node
from simulator.fusion.tangents import is_tangent
from simulator.hardware.waits import syncs
from simulator.records import Op, Phase, Signature, Storage, Tensor, Trace, touches

_LARGEST_ITEM = 8  # bytes per element of a copied storage that no op reads as a whole


_REPLAYED = Derived[Fused]()


def replayed(fusion: Fused) -> Fused:
    """A compiled step with the copies before its graphs, and its `replays`."""
    if fusion.replays is not None:
        return fusion
    return _REPLAYED.get(fusion, lambda: _replayed(fusion))


def _replayed(fusion: Fused) -> Fused:
    trace = fusion.trace
    piece, notes = _pieces(trace)
    outside, first = _graph_inputs(trace, piece)
    storages = list(trace.storages)
    moved: dict[int, int] = {}
    copies: dict[int, Op] = {}
    for number, loose in outside.items():
        tensors = [_shape(fusion.origin, trace, s) for s in loose]
        places = range(len(storages), len(storages) + len(loose))
        storages += [Storage(t.nbytes, -1, None, "activation") for t in tensors]
        moved |= dict(zip(loose, places, strict=True))
        begin = first[number]
        copies[begin] = _copy(trace.ops[begin].phase, tensors, loose, places)
    return _with(fusion, piece, notes, copies, storages, moved)


def _pieces(trace: Trace) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The graph of each op, and notes with the reasons why a pass is not exactly one graph."""
    piece = np.full(len(trace.ops), -1, np.int64)
    changed = _changed_inputs(trace)
    if changed:
        return piece, (
            f"no CUDA graph: the step writes into {changed} of its inputs, which torch.compile "
            'does not capture ("skipping cudagraphs due to mutated inputs"); make them buffers '
            "of the module",
        )
    numbers, number = count(), -1
    cuts: dict[str, int] = {}
    parts = graphs(trace)
    for index, op in enumerate(trace.ops):
        if op.phase == "optimizer":
            continue
        why = "" if parts.eager(index) else _uncaptured(op)
        if why or parts.eager(index):
            if why not in ("", "autograd"):
                cuts[why] = cuts.get(why, 0) + 1
            number = -1
            continue
        if number < 0 or parts.of[index] != parts.of[index - 1]:
            number = next(numbers)
        piece[index] = number
    notes = [
        f"CUDA graphs are cut where {why} ({times} op{'s' * (times > 1)})"
        for why, times in cuts.items()
    ]
    if trace.assumptions and (notes or parts.cuts):
        notes.append(
            "a graph is captured for each data-dependent size: predicted as if the graph of this "
            "size had already been captured"
        )
    return piece, tuple(notes)


def _uncaptured(op: Op) -> str:
    """Return the reason why an op is not captured, or an empty string."""
    if is_tangent(op) or (op.name == "aten.ones_like.default" and op.phase == "backward"):
        return "autograd"  # the gradients that start a backward pass
    if syncs(op.signature):
        return "the host waits for the GPU"
    outside = [t for t in op.inputs if t.device == "cpu" and t.shape]
    if outside or any(t.device == "cpu" for t in op.outputs):
        return "the CPU works"
    return ""


def _changed_inputs(trace: Trace) -> int:
    parts = graphs(trace)
    written = {
        s
        for index, op in enumerate(trace.ops)
        if op.phase != "optimizer" and not parts.eager(index)
        for s in op.storages[len(op.inputs) :]
    }
    return sum(trace.storages[s].role == "input" for s in written)


def _graph_inputs(
    trace: Trace, piece: NDArray[np.int64]
) -> tuple[dict[int, list[int]], dict[int, int]]:
    """For each graph, the storages that it reads and whose addresses change, and its first op.
    These are inputs and results of launches between graphs, unless an earlier graph copied them."""
    copied: dict[int, list[int]] = {}
    first: dict[int, int] = {}
    loose = {n for n, s in enumerate(trace.storages) if s.role == "input"}
    for index, (op, number) in enumerate(zip(trace.ops, piece.tolist(), strict=True)):
        inputs = len(op.inputs)
        if number < 0:
            loose.update(s for s in op.storages[inputs:] if trace.storages[s].role == "activation")
            continue
        first.setdefault(number, index)
        for storage in op.storages[:inputs]:
            if storage in loose and trace.storages[storage].device == "cuda":
                loose.discard(storage)
                copied.setdefault(number, []).append(storage)
    return copied, first


def _shape(origin: Trace, trace: Trace, storage: int) -> Tensor:
    """A tensor over a whole storage, with the shape that the eager step reads."""
    whole_storage = trace.storages[storage]
    if storage < len(origin.storages) and origin.storages[storage].role == whole_storage.role:
        for op in origin.ops:
            for tensor, each in zip(op.inputs, op.storages, strict=False):
                if each == storage and tensor.nbytes == whole_storage.nbytes:
                    return tensor
    items = max(1, whole_storage.nbytes // _LARGEST_ITEM)
    return Tensor((items,), "int64", (1,))


def _copy(phase: Phase, tensors: list[Tensor], inputs: list[int], places: range) -> Op:
    names = ("self",) * len(inputs) + ("src",) * len(inputs)
    signature = Signature("aten._foreach_copy_.default", (*tensors, *tensors), (), names, {})
    return Op(signature, "", phase, (*places, *inputs))


def _with(
    fusion: Fused,
    graph_of: NDArray[np.int64],
    notes: tuple[str, ...],
    copies: dict[int, Op],
    storages: list[Storage],
    moved: dict[int, int],
) -> Fused:
    """The step with each copy inserted before the op of its key; captured ops read the copies."""
    trace = fusion.trace
    ops: list[Op] = []
    groups: list[Group] = []
    piece: list[int] = []
    place: list[int] = []
    copied: list[int] = []
    for index, op in enumerate(trace.ops):
        if index in copies:
            copied.append(len(ops))
            ops.append(copies[index])
            piece.append(-1)
            groups.append(Group([Node("library", 1, call=copies[index])], 0, 0))
        place.append(len(ops))
        if index < len(fusion.groups):
            groups.append(fusion.groups[index])
        here = int(graph_of[index])
        if here >= 0 and not moved.keys().isdisjoint(op.storages):
            op = replace(op, storages=tuple(moved.get(s, s) for s in op.storages))
        ops.append(op)
        piece.append(here)
    place.append(len(ops))
    lives = _while_needed([s.moved(place) for s in storages], ops, moved)
    replayed_trace = trace.with_ops(ops, lives, place)
    pooled = _pooled(replayed_trace, piece, moved.values())
    replays = Replays(np.array(piece, np.int64), notes, tuple(copied), pooled)
    return Fused(replayed_trace, groups, fusion.origin, fusion.notes, replays=replays)


def _while_needed(storages: list[Storage], ops: list[Op], moved: dict[int, int]) -> list[Storage]:
    """The storages, with the lifetimes of copies shortened. The copy of an input lives from the
    copy op to the last op that reads it: each replay copies again, and later results of the graph
    may reuse the memory."""
    first, last = touches(ops)
    for number in moved.values():
        storages[number] = replace(storages[number], born=first[number], freed=last[number] + 1)
    return storages


def _pooled(trace: Trace, piece: list[int], places: Iterable[int]) -> frozenset[int]:
    """Storages in the graphs' memory pool: results of graphs, and copies of their inputs."""
    pooled_storages: set[int] = set()
    met: set[int] = set()
    for op, number in zip(trace.ops, piece, strict=True):
        if number >= 0:
            pooled_storages.update(
                s for s in op.storages if s not in met and trace.storages[s].born >= 0
            )
        met.update(op.storages)
    return frozenset(pooled_storages | set(places))
