"""Which memory of a whole step the buffers of one of its graphs are: what it is handed, and what it
hands on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from simulator.inductor.schedule import Schedule
from simulator.records import Phase, Role, Storage, Trace

_Use = tuple[Phase, bool]
"""When memory is touched first, and whether that writes it."""
_OWN: tuple[Role, ...] = ("weight", "buffer")


def buffer_storages(
    schedule: Schedule, trace: Trace, within: Sequence[int], storages: list[Storage]
) -> list[int]:
    """For each buffer its storage: one of `trace` that ops `within` the same graph, forward and
    backward, share with others, told by its role, its size and its first use; else a new one, which
    is put to `storages`."""
    shared = _shared(trace, within)
    weights = {buffer.nbytes for buffer in schedule.buffers if buffer.role == "weight"}
    number = [-1] * len(schedule.buffers)
    for place, use in _uses(schedule):
        buffer = schedule.buffers[place]
        kind = buffer.role if buffer.role in _OWN else "activation"
        found = shared.get((use, kind, buffer.nbytes))
        if found:
            alike = [s for s in found if trace.storages[s].role == buffer.role]
            number[place] = (alike or found)[0]
            found.remove(number[place])
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
    """Storages that outlive the step, or that ops outside touch too, by use, kind and bytes."""
    inside = set(within)
    outside = {s for i, op in enumerate(trace.ops) if i not in inside for s in op.storages}
    found: dict[tuple[_Use, str, int], list[int]] = defaultdict(list)
    met: set[int] = set()
    for index in within:
        op = trace.ops[index]
        for place, storage in enumerate(op.storages):
            held = trace.storages[storage]
            if storage in met or (storage not in outside and held.role == "activation"):
                continue
            met.add(storage)
            kind = held.role if held.role in _OWN else "activation"
            found[(op.phase, place >= len(op.inputs)), kind, held.nbytes].append(storage)
    return found


def _uses(schedule: Schedule) -> list[tuple[int, _Use]]:
    """Buffers and their first use. Of what a graph writes, first what none of its launches reads,
    and later ones before earlier ones: these are handed on."""
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
