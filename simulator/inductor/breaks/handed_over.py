"""Match the buffers of one graph, its inputs and outputs, with the storages of the whole step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from simulator.inductor.schedule import Schedule
from simulator.records import Phase, Role, Storage, Trace

_Use = tuple[Phase, bool]
"""The phase in which memory is touched first, and whether that access writes it."""
_OWN: tuple[Role, ...] = ("weight", "buffer")


def buffer_storages(
    schedule: Schedule, trace: Trace, within: Sequence[int], storages: list[Storage]
) -> list[int]:
    """The storage of each buffer. Ops `within` the same graph, forward and backward, share storages
    of `trace` with other ops; a buffer gets one of these if role, size and first use match.
    Otherwise a new one is appended to `storages`."""
    shared = _shared(trace, within)
    weights = {buffer.nbytes for buffer in schedule.buffers if buffer.role == "weight"}
    number = [-1] * len(schedule.buffers)
    for place, use in _uses(schedule):
        buffer = schedule.buffers[place]
        kind = buffer.role if buffer.role in _OWN else "activation"
        candidates = shared.get((use, kind, buffer.nbytes))
        if candidates:
            same_role = [s for s in candidates if trace.storages[s].role == buffer.role]
            number[place] = (same_role or candidates)[0]
            candidates.remove(number[place])
            continue
        number[place] = len(storages)
        lasts = buffer.role in _OWN or (buffer.role == "gradient" and buffer.nbytes in weights)
        storages.append(
            Storage(
                buffer.nbytes,
                -1 if lasts else 0,
                None if lasts else 0,
                buffer.role if lasts else "activation",
            )
        )
    return number


def _shared(trace: Trace, within: Sequence[int]) -> dict[tuple[_Use, str, int], list[int]]:
    """Storages that outlive the step or that other ops touch too, by use, kind and bytes."""
    inside = set(within)
    outside = {s for i, op in enumerate(trace.ops) if i not in inside for s in op.storages}
    shared: dict[tuple[_Use, str, int], list[int]] = defaultdict(list)
    met: set[int] = set()
    for index in within:
        op = trace.ops[index]
        for place, number in enumerate(op.storages):
            storage = trace.storages[number]
            if number in met or (number not in outside and storage.role == "activation"):
                continue
            met.add(number)
            kind = storage.role if storage.role in _OWN else "activation"
            shared[(op.phase, place >= len(op.inputs)), kind, storage.nbytes].append(number)
    return shared


def _uses(schedule: Schedule) -> list[tuple[int, _Use]]:
    """Buffers with their first use. Among the written ones, those that no launch reads come first,
    the latest before the earliest: these are the outputs of the graph."""
    first: dict[int, tuple[int, _Use]] = {}
    for place, launch in enumerate(schedule.launches):
        read = {b for b, _ in launch.reads}
        written = {b for b, _ in launch.writes}
        for buffer in launch.touched:
            use = launch.phase, buffer in written and buffer not in read
            first.setdefault(buffer, (place, use))
    read = {buffer for launch in schedule.launches for buffer, _ in launch.reads}

    def order(buffer: int) -> tuple[bool, int]:
        place, (_, writes) = first[buffer]
        return (buffer in read, -place) if writes else (False, place)

    return [(buffer, first[buffer][1]) for buffer in sorted(first, key=order)]
