"""The plan of one rank: its kernels with their streams, waits, seconds and collectives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from simulator.cluster.cluster import Cluster
from simulator.collectives.group import group_of
from simulator.collectives.price import CollectiveTime, priced, profile
from simulator.hardware.host import Host
from simulator.prediction import Columns
from simulator.records import Collective
from simulator.schedule.launch_plan import LaunchPlan
from simulator.schedule.timeline import Floats

Key = tuple[object, ...]


@dataclass(frozen=True)
class Transfer:
    """One transfer of a NCCL kernel. It begins when all simulated ranks that share `key` have
    arrived, `members` of them."""

    key: Key
    members: int
    seconds: float


@dataclass(frozen=True)
class RankPlan:
    """The kernels of a rank in launch order; lists have one entry each.

    host_s      host work before the launch
    seconds     on the GPU, alone; 0 for a collective, whose parts hold its seconds
    after       kernels that end before it begins; −1 − k is kernel k of the step before
    parts       transfers of a collective, () of others
    channels    multiprocessors that a collective takes
    """

    rank: int
    stream: list[int]
    host_s: list[float]
    seconds: list[float]
    after: list[tuple[int, ...]]
    parts: list[tuple[Transfer, ...]]
    channels: list[int]
    sync_after: list[bool]
    tail_s: float
    kernel_of_op: dict[int, int] = field(default_factory=dict[int, int])
    times: dict[int, CollectiveTime] = field(default_factory=dict[int, CollectiveTime])


def plan(
    rank: int,
    run: LaunchPlan,
    columns: Columns,
    host: Host,
    cluster: Cluster,
    representative: Callable[[int], int],
    mode: str,
) -> RankPlan:
    """The plan of a rank whose ops are `run`, each kernel taking as long as in `columns`."""
    ops, op_of = run.trace.ops, run.lowered.op_of.tolist()
    launches = run.by(host)
    host_s = launches.host_s.copy()
    beyond = profile().issue.beyond_s
    counted: dict[Key, int] = {}
    kernel_of: dict[int, int] = {}
    batches: dict[tuple[int, int], int] = {}
    out = RankPlan(rank, [], [], [], [], [], [], [], 0.0)
    owed: dict[int, set[int]] = {}  # waits of ops that launch nothing, by stream
    carried_s = 0.0
    place = 0
    last_on = _last_kernels(run)
    for number, op in enumerate(ops):
        owed.setdefault(op.stream, set()).update(op.after)
        carried_s += op.wrapped * profile().issue.wrapped_s
        while place < len(op_of) and op_of[place] == number:
            k = len(out.stream)
            what = op.collective
            spent = float(host_s[place]) + carried_s
            carried_s = 0.0
            if what is not None:
                batch = (op.stream, what.batch) if what.batch is not None else None
                part, time = _transfer(what, rank, cluster, representative, counted, mode)
                if batch in batches:  # NCCL launches a batch once
                    k = batches[batch]  # pyright: ignore[reportArgumentType]
                    out.parts[k] = (*out.parts[k], part)
                    kernel_of[number] = k
                    carried_s += spent
                    place += 1
                    continue
                if batch is not None:
                    batches[batch] = k
                spent += beyond[what.kind] if mode == "eager" else 0.0
                out.parts.append((part,))
                out.channels.append(time.choice.channels)
                out.times[k] = time
                out.seconds.append(0.0)
            else:
                out.parts.append(())
                out.channels.append(0)
                out.seconds.append(float(columns.duration_s[place]))
            out.stream.append(op.stream)
            out.host_s.append(spent)
            out.after.append(_waits(owed[op.stream], kernel_of, last_on))
            out.sync_after.append(bool(launches.sync_after[place]))
            owed[op.stream] = set()
            kernel_of[number] = k
            place += 1
        if number not in kernel_of:  # a view waits for what its stream did last
            owed[op.stream].update(op.after)
            last = _last_on(out, op.stream)
            if last is not None:
                kernel_of[number] = last
    tail = float(np.asarray(launches.tail_s)) + carried_s
    return replace(out, tail_s=tail, kernel_of_op=kernel_of)


def _waits(owed: set[int], kernel_of: dict[int, int], last_on: dict[int, int]) -> tuple[int, ...]:
    """Kernels of the awaited ops, and of awaited streams of the step before (−1 − stream)."""
    now = {kernel_of[i] for i in owed if i in kernel_of}
    before = {-1 - last_on[-1 - i] for i in owed if i < 0 and -1 - i in last_on}
    return tuple(sorted(now | before))


def _last_kernels(run: LaunchPlan) -> dict[int, int]:
    """The last kernel of each stream, batches merged."""
    seen: set[tuple[int, int]] = set()
    last: dict[int, int] = {}
    k = 0
    for number in run.lowered.op_of.tolist():
        op = run.trace.ops[number]
        what = op.collective
        if what is not None and what.batch is not None:
            if (op.stream, what.batch) in seen:
                continue
            seen.add((op.stream, what.batch))
        last[op.stream] = k
        k += 1
    return last


def _last_on(out: RankPlan, stream: int) -> int | None:
    return next((k for k in range(len(out.stream) - 1, -1, -1) if out.stream[k] == stream), None)


def _transfer(
    what: Collective,
    rank: int,
    cluster: Cluster,
    representative: Callable[[int], int],
    counted: dict[Key, int],
    mode: str,
) -> tuple[Transfer, CollectiveTime]:
    members = tuple(what.ranks)
    time = priced(what.kind, what.message_bytes, group_of(cluster, members), mode)
    if what.kind in ("send", "recv"):
        pair = tuple(representative(r) for r in members)
        way = pair if what.kind == "send" else pair[::-1]
        name: Key = ("p2p", what.tag, *way)
        count = len(set(pair))
    else:
        shared = {representative(r) for r in members}
        count = len(shared)
        name = ("group", *sorted(members)) if count > 1 else ("own", rank, *sorted(members))
    number = counted.get(name, 0)
    counted[name] = number + 1
    return Transfer((*name, number), count, time.seconds), time


def nudged(plans: list[RankPlan], seconds: list[list[float]], link: float) -> list[RankPlan]:
    """The plans with other kernel seconds, and with every transfer `link` times as long."""
    return [
        replace(
            each,
            seconds=own,
            parts=[
                tuple(replace(p, seconds=p.seconds * link) for p in parts) for parts in each.parts
            ]
            if link != 1.0
            else each.parts,
        )
        for each, own in zip(plans, seconds, strict=True)
    ]


def kernel_seconds(run: LaunchPlan, columns: Columns, durations: Floats) -> list[float]:
    """`durations` [kernels as lowered] as the list of a plan, without kernels merged in batches."""
    ops = run.trace.ops
    seen: set[tuple[int, int]] = set()
    out: list[float] = []
    for place, number in enumerate(run.lowered.op_of.tolist()):
        what = ops[number].collective
        if what is not None and what.batch is not None:
            key = (ops[number].stream, what.batch)
            if key in seen:
                continue
            seen.add(key)
        out.append(0.0 if what is not None else float(durations[place]))
    return out
