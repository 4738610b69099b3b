"""Find ranks that do the same work, and trace each distinct rank once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simulator.errors import InputError
from simulator.records import Collective, Trace

TraceRank = Callable[[int], Trace]


@dataclass(frozen=True)
class Roles:
    """The traces of the representatives, and each rank's representative."""

    traces: dict[int, Trace]
    of: tuple[int, ...]

    def ranks(self, representative: int) -> tuple[int, ...]:
        return tuple(rank for rank, other in enumerate(self.of) if other == representative)


def roles(trace_rank: TraceRank, world_size: int) -> Roles:
    """Trace rank 0, then the ranks that it exchanges messages with, directly or through others (the
    stages of a pipeline), else the last rank.

    The other ranks are assumed to do the same work as the traced rank of their stage. Raises
    InputError if two ranks call different collectives in a shared group.
    """
    traces = {0: trace_rank(0)}
    stages = [0]
    while True:
        peers = {r for s in stages for r in _peers(traces[s])} - {*stages}
        if not peers:
            break
        following = min(peers)
        traces[following] = trace_rank(following)
        stages.append(following)
    stages.sort()
    if len(stages) == 1 and world_size > 1:
        last = world_size - 1
        traces[last] = trace_rank(last)
        if _behaviour(traces[last]) == _behaviour(traces[0]):
            del traces[last]
            return Roles(traces, (0,) * world_size)
        _check_collectives(traces, 0, last)
        return Roles(traces, (*([0] * last), last))
    stride = stages[1] - stages[0] if len(stages) > 1 else 1
    of = tuple(stages[rank // stride % len(stages)] for rank in range(world_size))
    return Roles(traces, of)


def _peers(trace: Trace) -> set[int]:
    return {
        rank
        for op in trace.ops
        if op.collective is not None and op.collective.kind in ("send", "recv")
        for rank in op.collective.ranks
    }


def _behaviour(trace: Trace) -> list[tuple[object, ...]]:
    """The work of a rank, without the members of its groups."""
    return [
        (
            _shape_of(op.collective),
            op.name,
            op.stream,
            *(t.shape for t in op.inputs),
            *(t.shape for t in op.outputs),
        )
        for op in trace.ops
    ]


def _shape_of(what: Collective | None) -> tuple[object, ...]:
    """The properties of a collective that are equal on all ranks of a group."""
    if what is None:
        return ()
    return (what.kind, what.message_bytes, len(what.ranks))


def _check_collectives(traces: dict[int, Trace], first: int, second: int) -> None:
    """Raise InputError if two ranks call different collectives in a shared group."""
    a, b = (
        [op.collective for op in traces[r].ops if op.collective is not None]
        for r in (first, second)
    )
    groups = {c.ranks for c in a} & {c.ranks for c in b}
    for group in sorted(groups):
        ours = [c for c in a if c.ranks == group]
        theirs = [c for c in b if c.ranks == group]
        for number in range(max(len(ours), len(theirs))):
            x = ours[number] if number < len(ours) else None
            y = theirs[number] if number < len(theirs) else None
            if x is None or y is None or x.kind != y.kind or _differs(x, y):
                raise InputError(
                    f"deadlock: collective number {number} of the group of ranks "
                    f"{_listed(group)} is {_text(x)} on rank {first} and {_text(y)} on rank "
                    f"{second}: expected the same on every rank; correct either line"
                )


def _differs(x: Collective, y: Collective) -> bool:
    """Whether two collectives differ. NCCL needs equal counts; FSDP pads uneven shards itself."""
    return x.message_bytes != y.message_bytes


def _text(what: Collective | None) -> str:
    if what is None:
        return "missing"
    return f"{what.kind} of {what.message_bytes} bytes ({what.where})"


def _listed(group: tuple[int, ...]) -> str:
    return ", ".join(map(str, group[:8])) + (", …" if len(group) > 8 else "")
