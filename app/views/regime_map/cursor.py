"""The cursor of a regime map: its cross, its values on the axes, and its card."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QRectF

from app.drawing import Box, Item, Line, Marker, Point
from app.drawing.labels import Labels
from app.quantities import between, count_of, data, number, percent, seconds, seconds_unit
from app.scenes.regime_map.scene import Chart, Spot
from app.scenes.sweep.curves import axis_name, value_words, within_words
from app.theme import HEAD_PX, LABEL_PX, SUPPORT_PX
from app.widgets.drawn import rect
from app.widgets.paint import Paint, elided, width
from simulator.prediction import REGIMES, Regime

_RATES = (
    ("compute", "FLOP/s peaks"),
    ("memory", "bandwidths"),
    ("overhead", "host and launch speed"),
)
_ROOM, _HIGH, _MOVED_HIGH, _PLAIN_HIGH = 192.0, 96.0, 158.0, 52.0


def spot_words(chart: Chart, spot: Spot) -> str:
    """The text of a point: "Batch 8, sequence 512"."""
    x, y = chart.x.values[spot[0]], chart.y.values[spot[1]]
    first, second = (axis_name(line.name).removesuffix(" length") for line in (chart.x, chart.y))
    return f"{first} {value_words(x)}, {within_words(second)} {value_words(y)}"


def in_words(chart: Chart, spot: Spot) -> tuple[str, str]:
    """Return a point in words, and its time with interval and regime."""
    where, why, at = spot_words(chart, spot), chart.why(spot), chart.figures(spot)
    if why:
        return where, f"cannot run: {why}"
    interval = between(at["low_s"], at["high_s"], at["period_s"])
    return where, f"{seconds(at['period_s'])}, {interval}, {REGIMES[int(at['regime'])]}-bound"


def share_explanation(chart: Chart, spot: Spot) -> str:
    """Explain shares, with the shares of a point as an example."""
    at = chart.figures(spot)
    savings = ", ".join(f"{number(at[regime], 2)}% for {rate}" for regime, rate in _RATES)
    where, _ = in_words(chart, spot)
    return (
        "A regime's share is the time saved by raising its rates by 1%: s = −∂ ln T / ∂ ln rate.\n"
        f"At {within_words(where)}: {savings}"
    )


def cross(at: Point, area: Box) -> list[Item]:
    """Lines to both axes, and a ring that can be dragged."""
    x, y = at
    return [
        Line(((area.left, y), (area.right, y)), "ink", 1.2, casing="bg0"),
        Line(((x, area.top), (x, area.bottom)), "ink", 1.2, casing="bg0"),
        Marker(x, y, None, 10.0, "b", True, edge_width=3.0),
        Marker(x, y, None, 3.2, "bg1"),
    ]


def card_box(at: Point, wide: float, high: float, labels: Labels) -> Box:
    """Return a box beside the cursor, at a free spot if there is one."""
    inside, boxes = labels.inside, list[Box]()
    for right, below in ((False, True), (True, True), (True, False), (False, False)):
        left = at[0] + 18 if right else at[0] - 18 - wide
        top = at[1] + 14 if below else at[1] - 14 - high
        box = Box(left, top, wide, high)
        if labels.free(box):
            return box
        left = min(max(left, inside.left + 4), inside.right - wide - 4)
        top = min(max(top, inside.top + 4), inside.bottom - high - 4)
        boxes.append(Box(left, top, wide, high))
    return next((box for box in boxes if not box.grown(14, 12).holds(*at)), boxes[0])


def card(
    paint: Paint, chart: Chart, spot: Spot, at: Point, labels: Labels, home: Spot | None = None
) -> None:
    """Draw the figures of a point: time with interval and shares, or the reason why it cannot run.
    Away from the scenario's point `home`, add the verdict."""
    theme, why = paint.theme, chart.why(spot)
    head = spot_words(chart, spot)
    room = min(max(_ROOM, width(head, SUPPORT_PX, 600)), 1.5 * _ROOM)
    moved = home is not None and home != spot
    high = _PLAIN_HIGH if why else _MOVED_HIGH if moved else _HIGH
    place = card_box(at, room + 24, high, labels)
    labels.take(place.grown(4))
    box = rect(place)
    paint.box(box, theme.bg2, theme.line2)
    left, top = box.left() + 12, box.top()
    paint.text(left, top + 17, head, theme.ink, SUPPORT_PX, 600, room=room)
    if why:
        paint.text(left, top + 36, elided(f"Cannot run: {why}", room), theme.ink2)
        return
    figures = chart.figures(spot)
    if moved:
        regime = REGIMES[int(figures["regime"])]
        paint.mark(regime, left + 6, top + 38, 6)
        words = f"{regime.capitalize()}-bound"
        paint.text(left + 18, top + 38, words, theme.regime(regime).ink, SUPPORT_PX, 600)
        top += 22
    time_line(paint, QRectF(left, top + 28, room, 24), figures)
    share_bar(paint, QRectF(left, top + 58, room, 8), figures)
    x, y = left, top + 80
    for regime in REGIMES:
        paint.mark(regime, x + 5, y, 4.4)
        ink = theme.regime(regime).ink
        x = paint.text(x + 14, y, percent(figures[regime]), ink, LABEL_PX, 600).right() + 16
    if moved:
        for index, words in enumerate(verdict_words(chart, spot, home)):
            ink = theme.danger if index and not figures["fits"] else theme.ink2
            paint.text(left, y + 20 * (index + 1), words, ink, LABEL_PX, room=room)
    elif not figures["fits"]:
        paint.text(box.right() - 12, y, "does not fit", theme.danger, LABEL_PX, 600, 1.0)


def verdict_words(chart: Chart, spot: Spot, home: Spot | None) -> tuple[str, str]:
    """Return throughput and memory: "11,300 samples/s, 2.1× current", "4.0 GiB, fits"."""
    at = chart.figures(spot)
    rate = count_of(at["samples_per_s"], "samples/s")
    if home is not None and not chart.why(home):
        current = chart.figures(home)["samples_per_s"]
        rate += f", {number(at['samples_per_s'] / current, 2)}× current" if current else ""
    return rate, f"{data(at['memory_bytes'])}, {'fits' if at['fits'] else 'does not fit'}"


def time_line(paint: Paint, box: QRectF, figures: Mapping[str, float]) -> None:
    """Draw a time as a headline, with its interval at the right."""
    theme = paint.theme
    time, low, high = (figures[n] for n in ("period_s", "low_s", "high_s"))
    scale, unit = seconds_unit(time)
    words = number(time / scale)
    paint.text(box.left(), box.center().y(), words, theme.ink, HEAD_PX, 600)
    after = box.left() + width(words, HEAD_PX, 600) + 5
    paint.text(after, box.center().y() + 3, unit, theme.ink2, SUPPORT_PX)
    text = f"{between(low, high, time)} {unit}"
    paint.text(box.right(), box.center().y() + 3, text, theme.ink2, LABEL_PX, align=1.0)


def share_bar(
    paint: Paint, box: QRectF, shares: Mapping[Regime, float] | Mapping[str, float]
) -> None:
    """Draw shares side by side."""
    left = box.left()
    for regime in REGIMES:
        wide = shares[regime] * box.width()  # pyright: ignore[reportArgumentType]
        if wide > 0.5:
            paint.area(
                QRectF(left, box.top(), max(1.0, wide - 1.5), box.height()), regime, radius=2
            )
        left += wide


def boundary_words(chart: Chart) -> str:
    """The boundaries of a map in words, or the reason why there is no map."""
    boundaries = chart.field.mapped.map.boundaries if chart.field else ()
    words = [f"boundary between {a} and {b}" for a, b in (each.between for each in boundaries)]
    return chart.refused or "; ".join(words) or "one regime dominates everywhere"
