"""The lanes of a timeline: modules, the host's ops and the GPU's kernels."""

from __future__ import annotations

from collections.abc import Iterator

from app.drawing import Box, Fill, Item, Metrics, Mix, Pattern, Rectangle, Rectangles, Text, pill
from app.quantities import seconds
from app.scenes.pixel_scale import Scale
from app.scenes.timeline.lanes import (
    GPU_KINDS,
    HOST_KINDS,
    HOST_WAIT,
    LAUNCHES,
    SYNC_WAIT,
    WAITS,
    Lanes,
    Slices,
    Visible,
    visible,
)
from app.theme import LABEL_PX
from simulator.prediction import REGIMES

IDLE = (HOST_WAIT, SYNC_WAIT, WAITS)
_NAMED_PX = 20.0
_MODULE = Mix("bg3", 0.75)


def fill(kind: str) -> Fill:
    """The fill of a slice of a kind."""
    for regime in REGIMES:
        if kind == regime:
            return Pattern(regime)
    if kind in IDLE:
        return Pattern("idle")
    return "bg3" if kind == LAUNCHES else Mix("line2", 0.6)


def columns(runs: list[tuple[int, int, int]], kinds: tuple[str, ...], row: Box) -> list[Item]:
    """Slices narrower than a pixel as columns, each in the style of its most frequent kind."""
    top, high = round(row.top), round(row.height)
    boxes: dict[int, list[Box]] = {}
    for begin, end, kind in runs:
        boxes.setdefault(kind, []).append(Box(begin, top, end - begin, high))
    return [Rectangles(each, fill(kinds[kind]), crisp=True) for kind, each in boxes.items()]


def _wide(
    seen: Visible, slices: Slices, x: Scale
) -> Iterator[tuple[float, float, float, int, int]]:
    """For each wide slice, its visible left and right ends, its full width, its kind, and the index
    of its kernel, op or name."""
    kinds, of = slices.kind[seen.wide].tolist(), slices.of[seen.wide].tolist()
    for kind, each, left, right in zip(
        kinds, of, seen.left.tolist(), seen.right.tolist(), strict=True
    ):
        yield max(left, x.begin), min(right, x.end), right - left, kind, each


def gpu_lane(lanes: Lanes, x: Scale, row: Box, metrics: Metrics) -> list[Item]:
    """Kernels coloured by regime and idle time hatched, with names where they fit."""
    slices = lanes.gpu
    seen = visible(slices, x)
    items = columns(seen.runs, GPU_KINDS, row)
    names: list[Item] = []
    for begin, end, width, kind, kernel in _wide(seen, slices, x):
        name = GPU_KINDS[kind]
        gap = 1.0 if width >= 4 and name in REGIMES else 0.0
        box = Box(begin, row.top, end - begin - gap, row.height)
        items.append(Rectangle(box, fill(name), radius=0 if name in IDLE else 2))
        if box.width + gap >= _NAMED_PX:
            names += _gpu_name(lanes, box, kind, kernel, metrics)
    return [*items, *names]


def _gpu_name(lanes: Lanes, box: Box, kind: int, kernel: int, metrics: Metrics) -> list[Item]:
    (middle, centre), room, name = box.centre, box.width - 6, GPU_KINDS[kind]
    if name in IDLE:
        for words in (name, name.rpartition(" ")[2]):
            if metrics.width(words) + 14 < room:
                return [pill(metrics, middle, centre, words, "overhead_ink")]
        return []
    words = lanes.kernel_label(kernel)
    patterned = kind > 0  # then the name needs a background
    if metrics.width(words, LABEL_PX, 600) + (10 if patterned else 0) > room:
        return []
    if patterned:
        return [pill(metrics, middle, centre, words, weight=600)]
    return [Text(middle, centre, words, "on_compute", weight=600, anchor="middle")]


def host_lane(lanes: Lanes, x: Scale, row: Box, metrics: Metrics) -> list[Item]:
    """Ops that launch kernels as named boxes, and the other ops muted."""
    slices, centre = lanes.host, row.centre[1]
    seen = visible(slices, x)
    items = columns(seen.runs, HOST_KINDS, row)
    if not seen.wide.size and not seen.runs:
        items.append(Text(row.left + 4, centre, _launched(lanes), "ink3"))
    for begin, end, _, number, op in _wide(seen, slices, x):
        kind = HOST_KINDS[number]
        box = Box(begin, row.top, max(1.0, end - begin - 1), row.height)
        if kind == LAUNCHES:
            edge = "line2" if box.width > 5 else None
            items.append(Rectangle(box, "bg3", edge, radius=3))
            words = lanes.host_label(op)
        elif kind == WAITS:
            items.append(Rectangle(box, fill(kind)))
            words = "waiting for a sync"
        else:
            items.append(Rectangle(box.grown(0, -3), fill(kind), radius=2))
            continue
        if metrics.width(words) + 5 <= box.width:
            items.append(Text(box.centre[0], centre, words, anchor="middle"))
    return [*items, *_host_done(lanes, x, row, metrics)]


def _host_done(lanes: Lanes, x: Scale, row: Box, metrics: Metrics) -> list[Item]:
    """The reason why the host's lane is empty after its last slice, if there is room."""
    ends = lanes.host.end_s
    left = max(x.begin, min(x.end, x.at(float(ends[-1])))) if ends.size else x.begin
    words = _launched(lanes)
    if x.begin < left and left + metrics.width(words) + 40 < x.end:
        return [Text(left + 24, row.centre[1], words, "ink3")]
    return []


def _launched(lanes: Lanes) -> str:
    """The reason why the host is idle after its last launch."""
    issue = lanes.prediction.schedule.issue_s
    if not issue.size:
        return "no kernel is launched"
    at = seconds(float(issue[-1]))
    if lanes.prediction.mode == "cuda_graph":
        return f"one graph with every kernel, launched at {at}"
    return f"host done; last launch at {at}"


def module_row(slices: Slices, x: Scale, row: Box, metrics: Metrics) -> list[Item]:
    """The modules of the ops below; a name stays in view while its slice does."""
    seen = visible(slices, x, 3.0)
    items: list[Item] = []
    for begin, end, _, _kind, name in _wide(seen, slices, x):
        box = Box(begin, row.top, max(1.0, end - begin - 1), row.height)
        items.append(Rectangle(box, _MODULE))
        words = slices.names[name]
        for short in (words, ".".join(words.split(".")[-2:]), words.rpartition(".")[2]):
            fits = metrics.width(short, LABEL_PX, mono=True) + 10 <= end - begin
            if fits and not short.isdecimal():
                items.append(Text(begin + 6, row.centre[1], short, "ink2", mono=True))
                break
    return items
