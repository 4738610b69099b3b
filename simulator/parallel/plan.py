"""The plan of one rank: its kernels with their streams, waits, seconds and collectives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from simulator.cluster.cluster import Cluster
from simulator.collectives.group import group_of
from simulator.collectives.price import CollectiveTime, priced, profile
from simulator.hardware.host import Host
from simulator.hardware.host import host as default_host
from simulator.lowering.product import product_blocks
from simulator.prediction import Columns
from simulator.records import Collective
from simulator.schedule.launch_plan import LaunchPlan
from simulator.schedule.timeline import Floats

Key = tuple[object, ...]


@dataclass(frozen=True)
class Transfer:
    """One transfer of a NCCL kernel. It begins when all `members` simulated ranks that share `key`
    have arrived."""

    key: Key
    members: int
    seconds: float


@dataclass(frozen=True)
class RankPlan:
    """The kernels of a rank in launch order; lists have one entry each.

    host_s      host work before the launch
    seconds     on the GPU, alone; 0 for a collective, whose parts hold its seconds
    after       kernels that end before it begins; −1 − k is kernel k of the previous step
    parts       transfers of a collective, () of others
    channels    multiprocessors that a collective takes
    blocks      blocks of a product on tensor cores, one on each multiprocessor at a time; 0 for
                other kernels, whose blocks are many
    """

    rank: int
    stream: list[int]
    host_s: list[float]
    seconds: list[float]
    after: list[tuple[int, ...]]
    parts: list[tuple[Transfer, ...]]
    channels: list[int]
    blocks: list[float]
    sync_after: list[bool]
    tail_s: float
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
    """The plan of a rank with the launches `run` and the kernel times of `columns`."""
    ops, op_of = run.trace.ops, run.lowered.op_of.tolist()
    host = host.in_phase(run.trace.phase)
    launches = run.by(host)
    host_s, durations_s = launches.host_s.tolist(), columns.duration_s.tolist()
    sync_after = launches.sync_after.tolist()
    blocks = _blocks(run, cluster.gpu.units or 108)
    issue = profile().issue
    slower = host.seconds["op"] / default_host().seconds["op"]
    counted: dict[Key, int] = {}
    kernel_of: dict[int, int] = {}
    batches: dict[tuple[int, int], int] = {}
    out = RankPlan(rank, [], [], [], [], [], [], [], [], 0.0)
    owed: dict[int, set[int]] = {}  # waits of ops that launch nothing, by stream
    on_communicator: dict[tuple[int, ...], int] = {}  # the last kernel of each group
    newest: dict[int, int] = {}  # the last kernel of each stream so far
    carried_s = 0.0
    place = 0
    last_on = _last_kernels(run)
    awaited = {number for op in ops for number in op.after if number >= 0}
    launched_by = [*op_of, -1]
    for number, op in enumerate(ops):
        stream, what = op.stream, op.collective
        if op.after:
            owed.setdefault(stream, set()).update(op.after)
        if op.wrapped:
            carried_s += op.wrapped * issue.wrapped_s * slower
        while launched_by[place] == number:
            k = len(out.stream)
            spent = host_s[place] + carried_s
            carried_s = 0.0
            parts: tuple[Transfer, ...] = ()
            channels, seconds = 0, durations_s[place]
            if what is not None:
                part, time = _transfer(what, rank, cluster, representative, counted, mode)
                if what.batch is not None:
                    k = batches.setdefault((stream, what.batch), k)
                if k < len(out.stream):  # NCCL launches a batch once
                    out.parts[k] = (*out.parts[k], part)
                    kernel_of[number] = k
                    carried_s += spent
                    place += 1
                    continue
                spent += issue.beyond_s * slower if mode == "eager" else 0.0
                parts, channels, seconds = (part,), time.choice.channels, 0.0
                out.times[k] = time
            out.parts.append(parts)
            out.channels.append(channels)
            out.blocks.append(blocks[place] if what is None else 0.0)
            out.seconds.append(seconds)
            out.stream.append(stream)
            out.host_s.append(spent)
            after = _waits(owed.pop(stream), kernel_of, last_on) if stream in owed else ()
            if what is not None and what.kind not in ("send", "recv"):
                # NCCL runs the kernels of a communicator in the order of their launches
                before = on_communicator.get(what.ranks)
                if before is not None and out.stream[before] != stream and before not in after:
                    after = (*after, before)
                on_communicator[what.ranks] = k
            out.after.append(after)
            out.sync_after.append(sync_after[place])
            newest[stream] = k
            if number in awaited:
                kernel_of[number] = k
            place += 1
        if (
            number in awaited and number not in kernel_of and stream in newest
        ):  # a view: the last kernel of its stream
            kernel_of[number] = newest[stream]
    tail = float(np.asarray(launches.tail_s)) + carried_s
    return replace(out, tail_s=tail)


def _waits(owed: set[int], kernel_of: dict[int, int], last_on: dict[int, int]) -> tuple[int, ...]:
    """The kernels of awaited ops, and of awaited streams of the previous step (−1 − stream)."""
    now = {kernel_of[i] for i in owed if i in kernel_of}
    before = {-1 - last_on[-1 - i] for i in owed if i < 0 and -1 - i in last_on}
    return tuple(sorted(now | before))


def _blocks(run: LaunchPlan, units: int) -> list[float]:
    """The blocks of each lowered kernel that is a product on tensor cores; 0 for others."""
    of_work = [
        float(product_blocks(work, units))
        if work.family == "gemm" and work.engine == "tensor"
        else 0.0
        for work in run.lowered.works
    ]
    return [of_work[i] for i in run.lowered.work_of.tolist()]


def launched(run: LaunchPlan) -> list[int]:
    """Indices of lowered kernels, without those that NCCL launches together with an earlier kernel
    of their batch."""
    ops = run.trace.ops
    batches: set[tuple[int, int]] = set()
    places: list[int] = []
    op_of: list[int] = run.lowered.op_of.tolist()
    for place, number in enumerate(op_of):
        what = ops[number].collective
        if what is not None and what.batch is not None:
            key = ops[number].stream, what.batch
            if key in batches:
                continue
            batches.add(key)
        places.append(place)
    return places


def _last_kernels(run: LaunchPlan) -> dict[int, int]:
    """The last kernel of each stream, after batches are merged."""
    op_of: list[int] = run.lowered.op_of.tolist()
    ops = run.trace.ops
    return {ops[op_of[place]].stream: k for k, place in enumerate(launched(run))}


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


def kernel_seconds(run: LaunchPlan, durations: Floats) -> list[float]:
    """`durations` [lowered kernels] as the list of a plan, with 0 for collectives."""
    op_of: list[int] = run.lowered.op_of.tolist()
    ops = run.trace.ops
    durations_s = durations.tolist()
    return [
        0.0 if ops[op_of[place]].collective is not None else durations_s[place]
        for place in launched(run)
    ]
