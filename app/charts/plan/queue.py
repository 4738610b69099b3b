"""The queue drawn as a factory: customers, the prefill machine, the decode line, the shelf of
cache, and below them the customers' waiting times."""

from __future__ import annotations

from itertools import pairwise
from math import ceil

from app.charts.plan.histogram import histogram_items
from app.charts.plan.queue_summary import SUMMARY_PX, queue_spots, queue_summary
from app.drawing import (
    Box,
    Drawing,
    Item,
    Line,
    Marker,
    Metrics,
    Mix,
    Path,
    Pattern,
    Rectangle,
    Rectangles,
    Spot,
    Text,
    fitting,
    polygon,
)
from app.drawing.items import Step
from app.scenes.plan.queue import QueueScene
from app.theme import BODY_PX, SUPPORT_PX
from simulator.formats.numbers import short
from simulator.planning.wording import amount, latency

_PAD, _GAP, _NARROW_GAP, _NARROW = 12.0, 26.0, 16.0, 560.0
"""In pixels: the margin, the room for an arrow, that room in a narrow picture, and the largest
width of a narrow picture."""
_PERSON = 15.0
_LARGEST, _SMALLEST = 13, 5
"""Smallest and largest side of a slot of the decode line, in pixels."""
_FACTORY_PX, _HISTOGRAM_PX, _LOWEST_HISTOGRAM_PX = 132.0, 124.0, 96.0
_LEAST = 420.0
"""Smallest width at which the words of the factory fit into its parts."""
_TITLE = "The queue of a candidate"


def queue_drawing(scene: QueueScene, width: float, height: float, metrics: Metrics) -> Drawing:
    """The factory above the two histograms; a low picture has only the histograms, and a narrow one
    has the factory in words above them."""
    if width < _LEAST:
        return _narrow_drawing(scene, width, height, metrics)
    items: list[Item] = []
    spots: list[Spot] = []
    top = 4.0
    if height >= _FACTORY_PX + _HISTOGRAM_PX:
        items += _factory(scene, Box(_PAD, 8, width - 2 * _PAD, _FACTORY_PX), metrics, spots)
        top = _FACTORY_PX + 18
        items.append(Line(((_PAD, top - 4), (width - _PAD, top - 4)), "line"))
    half = (width - 3 * _PAD) / 2
    for at, histogram in enumerate((scene.token, scene.first)):
        left = _PAD + at * (half + _PAD)
        box = Box.between(left + 4, top, left + half - 4, height - 2)
        items += histogram_items(histogram, box, metrics)
    return Drawing(width, height, tuple(items), tuple(spots), _TITLE)


def _narrow_drawing(scene: QueueScene, width: float, height: float, metrics: Metrics) -> Drawing:
    """The parts in words above the histograms, one below the other if there is room."""
    spots: list[Spot] = []
    area = Box.between(_PAD, 6, width - _PAD, height - 2)
    items = queue_summary(scene.detail, area, metrics, spots)
    area = Box.between(area.left, area.top + SUMMARY_PX + 4, area.right, area.bottom)
    high = area.height / 2
    histograms = (scene.token, scene.first)
    if high < _LOWEST_HISTOGRAM_PX:
        histograms, high = histograms[:1], area.height
    for at, histogram in enumerate(histograms):
        box = Box(area.left, area.top + at * high, area.width, high)
        items += histogram_items(histogram, box, metrics)
    return Drawing(width, height, tuple(items), tuple(spots), _TITLE)


def _factory(scene: QueueScene, box: Box, metrics: Metrics, spots: list[Spot]) -> list[Item]:
    d = scene.detail
    wide = box.width
    shares = (0.15, 0.24, 0.42, 0.19)
    gap = _GAP if wide > _NARROW else _NARROW_GAP
    room = wide - 3 * gap
    boxes: list[Box] = []
    left = box.left
    for share in shares:
        boxes.append(Box(left, box.top, share * room, box.height))
        left += share * room + gap
    customers, prefill, decode, shelf = boxes
    items = _customers(scene, customers, metrics)
    items += _prefill(scene, prefill, metrics)
    items += _decode(scene, decode, metrics)
    items += _shelf(scene, shelf, metrics)
    for one, other in pairwise(boxes):
        items += _arrow(one.right + 4, other.left - 4, box.top + box.height / 2)
    spots += queue_spots(d, boxes)
    return items


def _customers(scene: QueueScene, box: Box, metrics: Metrics) -> list[Item]:
    d = scene.detail
    room = box.width + 8
    title = fitting(metrics, room, "Customers", "Queue", px=BODY_PX, weight=600)
    rate = fitting(metrics, room, f"{short(d.rate_per_s)} a second", f"{short(d.rate_per_s)}/s")
    items: list[Item] = [
        Text(box.left, box.top + 12, title, "ink", BODY_PX, 600),
        Text(box.left, box.top + 30, rate, "ink3"),
    ]
    fit = max(1, int(box.width // _PERSON))
    waiting = min(ceil(d.waiting - 0.05), fit)
    y = box.top + box.height / 2 + 4
    for at in range(fit):
        x = box.right - 8 - _PERSON * at
        items += _person(x, y, at < waiting)
    words = f"{short(d.waiting, 2)} waiting on average"
    waiting_words = f"{short(d.waiting, 2)} waiting", f"{short(d.waiting, 2)} wait"
    words = fitting(metrics, room, words, *waiting_words)
    items.append(Text(box.left, box.bottom - 26, words, "ink3"))
    if d.replicas > 1:
        words = fitting(metrics, room, f"of one of {d.replicas} replicas", "one replica", "replica")
        items.append(Text(box.left, box.bottom - 10, words, "ink3"))
    return items


def _person(x: float, y: float, waits: bool) -> list[Item]:
    fill = Mix("ink", 0.75) if waits else None
    edge = None if waits else "line2"
    head = Box.around(x, y - 9, 3.4)
    body: tuple[Step, ...] = (
        ("M", x - 5.5, y + 8),
        ("C", x - 5.5, y - 5, x + 5.5, y - 5, x + 5.5, y + 8),
        ("Z",),
    )
    return [
        Rectangle(head, fill, edge, 1.2, 3.4),
        Path(body, fill, edge, 1.2),
    ]


def _house(box: Box, colour: str, title: str, note: str, metrics: Metrics) -> list[Item]:
    regime = "compute" if colour == "compute" else "memory"
    ink = "compute" if colour == "compute" else "memory"
    items: list[Item] = [
        Rectangle(box, Mix(ink, 0.07), ink, 1.6, 6),
        Marker(box.left + 14, box.top + 14, regime, 5),
        Text(box.left + 26, box.top + 13, title, "ink", BODY_PX, 600),
    ]
    if metrics.width(title, BODY_PX, 600) + metrics.width(note) + 46 <= box.width:
        items.append(Text(box.right - 10, box.top + 13, note, "ink3", anchor="end"))
    else:
        items.append(Text(box.left + 10, box.top + 30, _cut(note, box.width - 20, metrics), "ink3"))
    return items


def _cut(words: str, room: float, metrics: Metrics) -> str:
    return fitting(metrics, room, words, words.partition(",")[0], "")


def _prefill(scene: QueueScene, box: Box, metrics: Metrics) -> list[Item]:
    """Triangles that represent the time; the filled ones are the share spent reading prompts."""
    d = scene.detail
    busy = d.prompt_share
    title = fitting(metrics, box.width - 34, "Prefill machine", "Prefill", px=BODY_PX, weight=600)
    items = _house(box, "compute", title, "", metrics)
    columns = max(2, int((box.width - 28) // 19) + 1)
    rows = 3
    lit = round(busy * columns * rows)
    for at in range(columns * rows):
        x = box.left + 20 + 19 * (at % columns)
        y = box.top + 42 + 18 * (at // columns)
        on = at < lit
        mark = Marker(x, y, "compute", 4.2) if on else None
        items.append(mark or Path(polygon(_triangle(x, y)), None, "line2", 1.0))
    each = latency(d.prompt_s)
    each = fitting(metrics, box.width - 18, f"{each} a prompt", f"{each} each", each, px=SUPPORT_PX)
    items.append(Text(box.left + 10, box.bottom - 28, each, "ink", SUPPORT_PX))
    words = fitting(metrics, box.width - 16, f"busy {busy:.0%} of the time", f"busy {busy:.0%}")
    items.append(Text(box.left + 10, box.bottom - 12, words, "compute_ink"))
    return items


def _triangle(x: float, y: float) -> tuple[tuple[float, float], ...]:
    return (x - 5, y + 3.2), (x + 5, y + 3.2), (x, y - 5.6)


def _decode(scene: QueueScene, box: Box, metrics: Metrics) -> list[Item]:
    """A square per slot; the average number of decoding sequences is filled."""
    d = scene.detail
    note = f"one token each, every {latency(d.decode_s)}"
    items = _house(box, "memory", "Decode line", note, metrics)
    area = Box.between(box.left + 12, box.top + 40, box.right - 12, box.bottom - 24)
    slot = _slot_px(area, d.slots)
    columns, rows = max(1, int(area.width // slot)), max(1, int(area.height // slot))
    each = max(1, ceil(d.slots / (columns * rows)))
    shown = ceil(d.slots / each)
    filled = round(d.batch / each)
    side = slot - (2 if slot > 6 else 1)
    places = [
        Box(area.left + slot * (at % columns), area.top + slot * (at // columns), side, side)
        for at in range(shown)
    ]
    if places[:filled]:
        items.append(Rectangles(tuple(places[:filled]), "memory"))
    for place in places[filled:]:
        items.append(Rectangle(place, None, "line2", 0.8))
    filled_slots = f"{short(d.batch)} of {d.slots} slots"
    squares = "" if each == 1 else f", {each} a square"
    words = fitting(
        metrics, box.width - 20, f"{filled_slots} filled{squares}",
        f"{filled_slots} filled", filled_slots, f"{short(d.batch)} of {d.slots}",
    )  # fmt: skip
    rate = f"{amount(round(d.rate_per_s * d.output_tokens))} tokens a second"
    items.append(Text(box.left + 12, box.bottom - 12, words, "ink"))
    if metrics.width(words) + metrics.width(rate) + 36 <= box.width:
        items.append(Text(box.right - 12, box.bottom - 12, rate, "memory_ink", anchor="end"))
    return items


def _slot_px(area: Box, slots: int) -> float:
    """The side of a slot at which all slots fit: from 5 to 13 pixels."""
    for slot in range(_LARGEST, _SMALLEST, -1):
        if (area.width // slot) * (area.height // slot) >= slots:
            return float(slot)
    return float(_SMALLEST)


def _shelf(scene: QueueScene, box: Box, metrics: Metrics) -> list[Item]:
    """The shelf of cache, filled from below."""
    d = scene.detail
    share = min(d.cached_tokens / max(d.cache_tokens, 1), 1.0)
    title = fitting(metrics, box.width + 4, "Cache shelf", "Cache", px=BODY_PX, weight=600)
    items: list[Item] = [Text(box.left, box.top + 13, title, "ink", BODY_PX, 600)]
    shelf = Box.between(box.left, box.top + 28, box.right, box.bottom - 42)
    inside = shelf.grown(-5)
    items.append(Rectangle(shelf, None, "memory", 1.6, 5))
    high = share * inside.height
    full = Box(inside.left, inside.bottom - high, inside.width, high)
    items.append(Rectangle(full, Pattern("memory")))
    boards = 4
    for at in range(1, boards):
        y = inside.top + inside.height * at / boards
        items.append(Line(((inside.left, y), (inside.right, y)), "line2"))
    used = f"{amount(round(d.cached_tokens))} of {amount(d.cache_tokens)} tokens"
    few = f"{_thousands(d.cached_tokens)} of {_thousands(d.cache_tokens)}"
    words = fitting(metrics, box.width + 8, used, few, f"{_thousands(d.cached_tokens)} used")
    items.append(Text(box.left, box.bottom - 27, words, "ink"))
    words = fitting(metrics, box.width + 8, f"{share:.0%} of the cache in use", f"{share:.0%} full")
    items.append(Text(box.left, box.bottom - 10, words, "ink3"))
    return items


def _thousands(tokens: float) -> str:
    return f"{short(tokens / 1e3)}k" if tokens >= 1e3 else f"{tokens:.0f}"


def _arrow(left: float, right: float, y: float) -> list[Item]:
    head = polygon(((right, y), (right - 7, y - 4), (right - 7, y + 4)))
    return [Line(((left, y), (right - 5, y)), "ink3", 1.6), Path(head, "ink3")]
