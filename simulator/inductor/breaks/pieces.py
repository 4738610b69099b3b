"""The pieces into which Dynamo cuts a step that is not one graph, and their ops in the eager trace
of the same step."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from simulator.fusion.graphs import graphs
from simulator.records import Break, Trace

_AHEAD, _SURE = 64, 3  # ops to look ahead, and equal ops that make a match


class Piece(msgspec.Struct, frozen=True):
    """A stretch of the forward pass, a `graph` or eager: the names of its ops, and the line and
    reason of the break that ended it ("" if the function returned). Several graphs may share the
    number of a `schedule`."""

    graph: bool
    ops: list[str]
    where: str = ""
    reason: str = ""
    schedule: int = -1


def broken(trace: Trace, pieces: Sequence[Piece]) -> Trace:
    """The eager trace with Dynamo's breaks. Their place in the backward pass is known if the eager
    trace has a break in the same place."""
    forward = [op.name for op in trace.ops if op.phase == "forward"]
    known = {each.op: each for each in trace.breaks}
    known |= {each.until: each for each in trace.breaks}
    named = _once(pieces)
    if named and not (named[-1].graph or named[-1].ops):
        named.pop()  # ops after the module are compiled with its end
    ends = _ends(forward, named)
    breaks: list[Break] = []
    begin = 0
    where = reason = ""
    for piece, end in zip(named, ends, strict=True):
        if piece.graph:
            where, reason = piece.where, piece.reason
        elif reason or end > begin or 0 < end < len(forward):
            same = known.get(begin) or known.get(end)
            back = (same.back, same.back_until) if same else (0, 0)
            breaks.append(Break(begin, end, where, reason, *back))
            where = reason = ""
        begin = end
    return replace(trace, breaks=[each for each in breaks if each.op < len(forward)])


def by_stretch(trace: Trace, pieces: Sequence[Piece]) -> dict[int, list[int]]:
    """The numbers of the schedules by stretch of the forward pass, for a trace that `broken`
    returned."""
    forward = [op.name for op in trace.ops if op.phase == "forward"]
    stretch = [number for phase, number in graphs(trace).of if phase == "forward"]
    stretches: dict[int, list[int]] = {}
    begin = 0
    for piece, end in zip(pieces, _ends(forward, pieces), strict=True):
        if piece.graph and end > begin:
            stretches.setdefault(stretch[begin], []).append(piece.schedule)
        begin = end
    return stretches


def _once(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with each break named once. A break ends the graphs of the callers and then that
    of its function; only the last keeps the name."""
    distinct = list(pieces)
    for at in range(len(distinct) - 2):
        one, between, other = distinct[at : at + 3]
        same = one.reason and (one.where, one.reason) == (other.where, other.reason)
        if same and not between.graph and not between.ops:
            distinct[at] = replace(one, where="", reason="")
    return distinct


def _ends(eager: Sequence[str], pieces: Sequence[Piece]) -> list[int]:
    """The end of each piece in the eager trace. Names that occur on one side only (ops that differ
    between a GPU and this build) are skipped."""
    other = [name for piece in pieces for name in piece.ops]
    at = _places(eager, other)
    ends: list[int] = []
    done = 0
    for piece in pieces:
        done += len(piece.ops)
        ends.append(at[done])
    return ends


def _places(eager: Sequence[str], other: Sequence[str]) -> list[int]:
    """For each op of `other`, and for its end, the op of `eager` that equals it or follows it."""
    places: list[int] = []
    i = j = 0
    while j < len(other):
        if i < len(eager) and eager[i] == other[j]:
            places.append(i)
            i, j = i + 1, j + 1
            continue
        skipped, ahead = _next(eager[i : i + _AHEAD], other[j : j + _AHEAD])
        places += [i] * ahead
        i, j = i + skipped, j + ahead
    return [*places, i]


def _next(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """How many ops to skip in each list so that both continue with equal ops."""
    for total in range(1, len(one) + len(other)):
        for a in range(min(total, len(one)) + 1):
            b = total - a
            if b > len(other):
                continue
            alike = list(one[a : a + _SURE])
            if alike and alike == list(other[b : b + _SURE]):
                return a, b
    return len(one), len(other)
