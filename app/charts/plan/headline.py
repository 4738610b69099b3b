"""The verdict bar of a plan: the chosen candidate and its main figures."""

from __future__ import annotations

from app.drawing import (
    Box,
    Drawing,
    Item,
    Line,
    Marker,
    Metrics,
    Mix,
    Rectangle,
    Text,
    elided,
    fitting,
    regime_ink,
)
from app.scenes.plan.headline import Figure, HeadlineScene
from app.theme import HEAD_PX, SUPPORT_PX

PAD, _FIRST = 14.0, 1.55
"""The ratio of the first column's width to that of each other column."""
_REACH = 0.5
"""The track of an interval spans from 0.5 to 1.5 times the figure."""


def headline_drawing(
    scene: HeadlineScene, width: float, height: float, metrics: Metrics
) -> Drawing:
    """The bar, `height` pixels high; narrow columns show shorter texts."""
    items: list[Item] = [headline_frame(width, height)]
    count = len(scene.figures)
    each = width / (count + _FIRST)
    items += _first(scene, Box(PAD, 0, _FIRST * each - 2 * PAD, height), metrics)
    for at, figure in enumerate(scene.figures):
        left = (at + _FIRST) * each
        items.append(Line(((left, 14), (left, height - 14)), "line"))
        items += figure_column(figure, Box(left + PAD, 0, each - 2 * PAD, height), metrics)
    return Drawing(width, height, tuple(items), title=f"{scene.name}, {scene.mode}")


def waiting_drawing(words: str, width: float, height: float) -> Drawing:
    """The bar without a candidate, with the reason."""
    text = Text(PAD, height / 2, words, "ink2", HEAD_PX, 600)
    return Drawing(width, height, (headline_frame(width, height), text), title=words)


def headline_frame(width: float, height: float) -> Rectangle:
    """The panel behind the bar."""
    return Rectangle(Box(0.5, 0.5, width - 1, height - 1), "bg1", "line", radius=8)


def _first(scene: HeadlineScene, box: Box, metrics: Metrics) -> list[Item]:
    items: list[Item] = []
    left = box.left
    if scene.regime is not None:
        ink = regime_ink(scene.regime)
        house = Box(left, 24, 40, 40)
        items.append(Rectangle(house, Mix(scene.regime, 0.16), Mix(ink, 0.5), radius=6))
        items.append(Marker(left + 20, 45 if scene.regime == "compute" else 44, scene.regime, 9))
        left += 52
    room = box.right - left
    px = HEAD_PX if metrics.width(scene.name, HEAD_PX, 600) <= room else SUPPORT_PX + 2
    items.append(Text(left, 30, elided(metrics, scene.name, room, px, 600), "ink", px, 600))
    binds = f"{scene.binds} binds" if scene.binds else ""
    words = fitting(
        metrics, room, f"{scene.mode}; {binds}", binds or scene.mode, scene.mode, px=SUPPORT_PX
    )
    items.append(Text(left, 52, elided(metrics, words, room, SUPPORT_PX), "ink2", SUPPORT_PX))
    colour = "b" if scene.status == "fits" else "c" if scene.holds else "danger"
    colour = "ink2" if scene.preliminary else colour
    items.append(Text(left, 71, scene.status, colour, SUPPORT_PX, 600))
    return items


def figure_column(figure: Figure, box: Box, metrics: Metrics) -> list[Item]:
    """A figure with its interval, below its label and above its note."""
    ink = "danger" if figure.late else "ink"
    label = fitting(
        metrics,
        box.width,
        figure.label,
        figure.label.partition(" per million")[0],
        figure.label.partition(",")[0],
        figure.label.split(" ")[0],
    )
    items: list[Item] = [
        Text(box.left, 20, label, "ink3"),
        Text(box.left, 45, figure.figure, ink, HEAD_PX, 600),
    ]
    left = box.left + metrics.width(figure.figure, HEAD_PX, 600) + 5
    shorter = figure.unit.replace("a second", "/s").partition(" ")[0]
    shorter = "" if shorter == "of" else shorter  # the card's memory, in "12% of the card"
    unit = fitting(metrics, box.right - left, figure.unit, shorter, "", px=SUPPORT_PX)
    items.append(Text(left, 48, unit, "ink2", SUPPORT_PX))
    note = fitting(
        metrics, box.width, figure.note, figure.note.partition(" with")[0], "", px=SUPPORT_PX
    )
    wide = metrics.width(note, SUPPORT_PX)
    room = box.width - wide - 10
    right = box.left
    if figure.interval is not None and room > 34:
        right = box.left + min(room, 80.0) + 8
        items += _track(figure.interval, Box(box.left, 68, right - 8 - box.left, 14))
    items.append(Text(right, 75, note, "danger" if figure.late else "ink2", SUPPORT_PX))
    return items


def _track(interval: tuple[float, float], box: Box) -> list[Item]:
    """An 80% interval, with the figure in the middle of the track."""
    y = box.top + box.height / 2

    def at(times: float) -> float:
        return box.left + box.width * min(1.0, max(0.0, 0.5 + (times - 1) / (2 * _REACH)))

    low, high = at(interval[0]), at(interval[1])
    middle = box.left + box.width / 2
    return [
        Rectangle(Box(box.left, y - 2, box.width, 4), "bg3", radius=2),
        Rectangle(Box.between(low, y - 4, high, y + 4), "line2", radius=2),
        Rectangle(Box(middle - 1, y - 7, 2, 14), "ink"),
    ]
