"""Which ranks do the same: they are traced once."""

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
    """Trace rank 0, then those that it exchanges messages with, directly or over others (the
    stages of a pipeline), then the last rank; a rank that does what one before it did joins that.

    Others are taken to do what the rank at their place among the stages does.
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
        if _does(traces[last]) == _does(traces[0]):
            del traces[last]
            return Roles(traces, (0,) * world_size)
        _check_alike(traces, 0, last)
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


def _does(trace: Trace) -> list[tuple[object, ...]]:
    """What a rank does, without which ranks its groups have."""
    return [
        (
            id_of(op.collective),
            op.name,
            op.stream,
            *(t.shape for t in op.inputs),
            *(t.shape for t in op.outputs),
        )
        for op in trace.ops
    ]


def id_of(what: Collective | None) -> tuple[object, ...]:
    """A collective as another rank's of the same group looks."""
    if what is None:
        return ()
    return (what.kind, what.message_bytes, len(what.ranks))


def _check_alike(traces: dict[int, Trace], first: int, second: int) -> None:
    """Raise InputError where two ranks call different collectives in a group they share."""
    a, b = (
        [op.collective for op in traces[r].ops if op.collective is not None]
        for r in (first, second)
    )
    groups = {c.ranks for c in a} & {c.ranks for c in b}
    for group in sorted(groups):
        one = [c for c in a if c.ranks == group]
        two = [c for c in b if c.ranks == group]
        for number in range(max(len(one), len(two))):
            x = one[number] if number < len(one) else None
            y = two[number] if number < len(two) else None
            if x is None or y is None or x.kind != y.kind or _differs(x, y):
                raise InputError(
                    f"deadlock: collective number {number} of the group of ranks "
                    f"{_shown(group)} is {_said(x)} on rank {first} and {_said(y)} on rank "
                    f"{second}: expected the same on every rank; correct either line"
                )


def _differs(x: Collective, y: Collective) -> bool:
    """NCCL needs equal counts, but for the pad of an uneven shard, which FSDP adds itself."""
    return x.message_bytes != y.message_bytes


def _said(what: Collective | None) -> str:
    if what is None:
        return "missing"
    return f"{what.kind} of {what.message_bytes} bytes ({what.where})"


def _shown(group: tuple[int, ...]) -> str:
    return ", ".join(map(str, group[:8])) + (", …" if len(group) > 8 else "")
