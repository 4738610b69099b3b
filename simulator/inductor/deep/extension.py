"""The schedule of a deep network from those of two shallower ones.

A network repeats one block. The launches that a few more blocks add form a period, which a
comparison of two depths shows. If everything else is equal, further periods are inserted, in which
all counts (buffers, origins, the number of a block) grow by the same amount from period to period
and from depth to depth. Otherwise the schedule cannot be extended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from simulator.inductor.deep.periods import ContinuedRow, Row, continued
from simulator.inductor.schedule import Buffer, Launch, Origin, Schedule
from simulator.records import Role

_NUMBERS = ("operands", "origins")  # fields that hold numbers of buffers and of origins


def extend(short: Schedule, deep: Schedule, times: int) -> Schedule | None:
    """The schedule with `times` more periods than `deep`, which has one more period than `short`;
    None if they differ in anything but a period."""
    launched = _continued(
        [_row(x, short.buffers) for x in short.launches],
        [_row(x, deep.buffers) for x in deep.launches],
        _forward(short.launches),
        _forward(deep.launches),
        times,
    )
    named = _continued(
        list(map(_origin_row, short.origins)),
        list(map(_origin_row, deep.origins)),
        _forward(short.origins),
        _forward(deep.origins),
        times,
    )
    if launched is None or named is None:
        return None
    launches: list[Launch] = []
    owned: dict[int, Buffer] = {}
    for like, counts in launched:
        launch, touched = _launch(deep.launches[like], counts, deep.buffers)
        launches.append(launch)
        for number, buffer in touched:
            if owned.setdefault(number, buffer) != buffer:
                return None
    if sorted(owned) != list(range(len(owned))):
        return None
    schedule = msgspec.structs.replace(
        deep,
        launches=launches,
        buffers=[owned[number] for number in range(len(owned))],
        origins=[_origin(deep.origins[like], counts) for like, counts in named],
    )
    return schedule if _sound(schedule, deep, [like for like, _ in launched]) else None


def _forward(rows: Sequence[Launch] | Sequence[Origin]) -> int:
    """The number of items before the first of the backward graph."""
    return next((i for i, x in enumerate(rows) if x.phase == "backward"), len(rows))


def _continued(
    short: list[Row], deep: list[Row], short_forward: int, deep_forward: int, times: int
) -> list[ContinuedRow] | None:
    """Continue the forward and the backward graph separately."""
    forward = continued(short[:short_forward], deep[:deep_forward], times)
    backward = continued(short[short_forward:], deep[deep_forward:], times)
    if forward is None or backward is None:
        return None
    return forward + [ContinuedRow(like + deep_forward, counts) for like, counts in backward]


def _sound(extended: Schedule, deep: Schedule, likes: list[int]) -> bool:
    """Whether all origins exist, and each launch and the launch that it copies have the same inputs
    that earlier launches wrote."""
    if any(not 0 <= o < len(extended.origins) for each in extended.launches for o in each.origins):
        return False
    before = _unmade(deep)
    return _unmade(extended) == [before[like] for like in likes]


def _unmade(schedule: Schedule) -> list[tuple[int, ...]]:
    """For each launch, the indices of those of its reads that no earlier launch wrote, such as
    views of several adjacent buffers."""
    outside: tuple[Role, ...] = ("weight", "buffer", "input")
    available = {number for number, buffer in enumerate(schedule.buffers) if buffer.role in outside}
    unmade: list[tuple[int, ...]] = []
    for launch in schedule.launches:
        available.update(number for number, _ in launch.writes)
        unmade.append(tuple(i for i, (b, _) in enumerate(launch.reads) if b not in available))
    return unmade


# -- a launch and its counts -----------------------------------------------------------------------


def _row(launch: Launch, buffers: list[Buffer]) -> Row:
    """A launch as a row. In a launch without reads, such as one that fills seeds, every number may
    grow."""
    label: list[object] = []
    counts: list[int] = []
    for value, counted in _leaves(msgspec.to_builtins(launch), not launch.reads):
        if counted:
            counts.append(cast(int, value))
        else:
            label.append(value)
    for number in launch.touched:
        label.append(buffers[number].role)
        counts.append(buffers[number].nbytes)
    return Row(tuple(label), tuple(counts))


def _launch(
    like: Launch, counts: tuple[int, ...], buffers: list[Buffer]
) -> tuple[Launch, list[tuple[int, Buffer]]]:
    """A copy of a launch with new counts, and the buffers that it touches."""
    left = iter(counts)
    plain = _filled(msgspec.to_builtins(like), not like.reads, left)
    launch = msgspec.convert(plain, Launch)
    roles: list[Role] = [buffers[number].role for number in like.touched]
    numbers = launch.touched
    return launch, [
        (number, Buffer(nbytes, role))
        for number, nbytes, role in zip(numbers, left, roles, strict=True)
    ]


def _leaves(value: Any, counted: bool, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, bool]]:
    """Every leaf of plain data, and whether it is a count; lengths and keys count as leaves too."""
    if isinstance(value, dict | list | tuple):
        items = list(_items(value))
        yield tuple(key for key, _ in items), False
        for key, each in items:
            yield from _leaves(each, counted, (*place, key))
    else:
        yield value, _counts(value, counted, place)


def _filled(value: Any, counted: bool, counts: Iterator[int], place: tuple[Any, ...] = ()) -> Any:
    """The same data with its counts taken from `counts`."""
    if isinstance(value, dict | list | tuple):
        filled = {key: _filled(each, counted, counts, (*place, key)) for key, each in _items(value)}
        return filled if isinstance(value, dict) else list(filled.values())
    return next(counts) if _counts(value, counted, place) else value


def _items(value: Any) -> Any:
    return cast("dict[Any, Any]", value).items() if isinstance(value, dict) else enumerate(value)


def _counts(value: Any, counted: bool, place: tuple[Any, ...]) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return counted or place[0] in _NUMBERS or (place[0] in ("reads", "writes") and place[2] == 0)


# -- an origin and its counts ----------------------------------------------------------------------


def _origin_row(origin: Origin) -> Row:
    parts = origin.module.split(".")
    numbers = [int(part) for part in parts if part.isdecimal()]
    path = tuple("#" if part.isdecimal() else part for part in parts)
    return Row((origin.op, path, origin.phase), (*numbers, origin.number))


def _origin(like: Origin, counts: tuple[int, ...]) -> Origin:
    left = iter(counts)
    parts = [str(next(left)) if part.isdecimal() else part for part in like.module.split(".")]
    return Origin(like.op, ".".join(parts), like.phase, next(left))
