"""The plan of one rank: its kernels with their streams, waits, seconds and collectives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.cluster.cluster import Cluster
from simulator.collectives.group import group_of
from simulator.collectives.price import CollectiveTime, priced, profile
from simulator.hardware.host import Host
from simulator.hardware.host import host as default_host
from simulator.lowering.product import product_blocks
from simulator.parallel.plan_shape import PlanShape, shape_of
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
    shape       what follows from streams, waits and syncs, if it is known
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
    shape: PlanShape | None = None


@dataclass(frozen=True)
class _Structure:
    """What a plan has before its kernels are timed and its collectives priced: `plan` has neither
    seconds nor parts. `alone` are the kernels that are not collectives; `transfers` are those of
    the others, each with its kernel, key and number of members."""

    plan: RankPlan
    places: NDArray[np.int64]
    alone: NDArray[np.bool_]
    transfers: list[tuple[int, Collective, Key, int]]


_STRUCTURES: Derived[_Structure] = Derived(4)  # of lowered traces


def plan(
    rank: int,
    run: LaunchPlan,
    columns: Columns,
    host: Host,
    cluster: Cluster,
    of: tuple[int, ...],
    mode: str,
) -> RankPlan:
    """The plan of a rank with the launches `run` and the kernel times of `columns`. `of` is the
    simulated rank that stands for each rank of the cluster."""
    host = host.in_phase(run.trace.phase)
    units = cluster.gpu.units or 108
    structure = _STRUCTURES.get(
        run.lowered,
        lambda: _structure(rank, run, host, units, of, mode),
        (rank, tuple(host.seconds.items()), units, of, mode),
    )
    parts: list[tuple[Transfer, ...]] = [()] * len(structure.places)
    channels = [0] * len(structure.places)
    times: dict[int, CollectiveTime] = {}
    prices: dict[tuple[str, int, tuple[int, ...]], CollectiveTime] = {}
    for k, what, key, members in structure.transfers:
        size = what.kind, what.message_bytes, what.ranks
        time = prices.get(size)
        if time is None:
            group = group_of(cluster, what.ranks)
            time = prices[size] = priced(what.kind, what.message_bytes, group, mode)
        if k not in times:
            times[k] = time
            channels[k] = time.choice.channels
        parts[k] = (*parts[k], Transfer(key, members, time.seconds))
    return replace(
        structure.plan,
        seconds=_seconds(structure.places, structure.alone, columns.duration_s),
        parts=parts,
        channels=channels,
        times=times,
    )


def _structure(
    rank: int, run: LaunchPlan, host: Host, units: int, of: tuple[int, ...], mode: str
) -> _Structure:
    ops = run.trace.ops
    op_of: list[int] = run.lowered.op_of.tolist()
    launches = run.by(host)
    host_s = launches.host_s.tolist()
    sync_after = launches.sync_after.tolist()
    blocks = _blocks(run, units)
    issue = profile().issue
    slower = host.seconds["op"] / default_host().seconds["op"]
    counted: dict[Key, int] = {}
    kernel_of: dict[int, int] = {}
    batches: dict[tuple[int, int], int] = {}
    out = RankPlan(rank, [], [], [], [], [], [], [], [], 0.0)
    transfers: list[tuple[int, Collective, Key, int]] = []
    owed: dict[int, set[int]] = {}  # waits of ops that launch nothing, by stream
    on_communicator: dict[tuple[int, ...], int] = {}  # the last kernel of each group
    newest: dict[int, int] = {}  # the last kernel of each stream so far
    carried_s = 0.0
    place = 0
    places = launched(run)
    last_on = {ops[op_of[each]].stream: k for k, each in enumerate(places)}
    awaited = {number for op in ops if op.after for number in op.after if number >= 0}
    launched_by = [*op_of, -1]
    for number, op in enumerate(ops):
        if op.after:
            owed.setdefault(op.stream, set()).update(op.after)
        if op.wrapped:
            carried_s += op.wrapped * issue.wrapped_s * slower
        if launched_by[place] == number:
            stream, what = op.stream, op.collective
            while launched_by[place] == number:
                k = len(out.stream)
                spent = host_s[place] + carried_s
                carried_s = 0.0
                if what is not None:
                    if what.batch is not None:
                        k = batches.setdefault((stream, what.batch), k)
                    transfers.append((k, what, *_transfer(what, rank, of, counted)))
                    if k < len(out.stream):  # NCCL launches a batch once
                        kernel_of[number] = k
                        carried_s += spent
                        place += 1
                        continue
                    spent += issue.beyond_s * slower if mode == "eager" else 0.0
                out.blocks.append(blocks[place] if what is None else 0.0)
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
            number in awaited and number not in kernel_of and op.stream in newest
        ):  # a view: the last kernel of its stream
            kernel_of[number] = newest[op.stream]
    alone = np.ones(len(out.stream), np.bool_)
    alone[[k for k, *_ in transfers]] = False
    tail_s = float(np.asarray(launches.tail_s)) + carried_s
    shape = shape_of(out.stream, out.after, out.sync_after, alone.tolist())
    return _Structure(
        replace(out, tail_s=tail_s, shape=shape), np.array(places, np.int64), alone, transfers
    )


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
    op_of: list[int] = run.lowered.op_of.tolist()
    if all(op.collective is None or op.collective.batch is None for op in ops):
        return list(range(len(op_of)))
    batches: set[tuple[int, int]] = set()
    places: list[int] = []
    for place, number in enumerate(op_of):
        what = ops[number].collective
        if what is not None and what.batch is not None:
            key = ops[number].stream, what.batch
            if key in batches:
                continue
            batches.add(key)
        places.append(place)
    return places


def _transfer(
    what: Collective, rank: int, of: tuple[int, ...], counted: dict[Key, int]
) -> tuple[Key, int]:
    """The key of a transfer, and the number of simulated ranks that take part."""
    members = tuple(what.ranks)
    if what.kind in ("send", "recv"):
        pair = tuple(of[r] for r in members)
        way = pair if what.kind == "send" else pair[::-1]
        name: Key = ("p2p", what.tag, *way)
        count = len(set(pair))
    else:
        count = len({of[r] for r in members})
        name = ("group", *sorted(members)) if count > 1 else ("own", rank, *sorted(members))
    number = counted.get(name, 0)
    counted[name] = number + 1
    return (*name, number), count


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
    places = np.array(launched(run), np.int64)
    ops = run.trace.ops
    alone = np.array([op.collective is None for op in ops], np.bool_)
    return _seconds(places, alone[run.lowered.op_of[places]], durations)


def _seconds(places: NDArray[np.int64], alone: NDArray[np.bool_], durations: Floats) -> list[float]:
    return np.where(alone, durations[places], 0.0).tolist()
