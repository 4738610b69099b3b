"""The figures of the verdict bar as painted, each from `x` and `wide` pixels wide."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log2

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPolygonF

from app.answers.answer import Answer, BatchRegimes
from app.answers.power import clocks
from app.quantities import data, joules, number, percent, scaled, seconds, seconds_unit, trimmed
from app.theme import BODY_PX, HEAD_PX, LABEL_PX, SUPPORT_PX, mixed
from app.widgets.paint import Paint, elided, width
from app.widgets.style import TIME_PX
from simulator.prediction import REGIMES, Prediction

_LABEL_Y, _FIGURE_Y, _BAR_Y, _SAID_Y = 19.0, 43.0, 63.0, 77.0
_REACH = 0.3
"""The interval is drawn on a track from so much below the time to so much above it."""


Draw = Callable[[Paint, float, float, Answer], None]


def figures(along: BatchRegimes | None, searched: bool) -> tuple[Draw, ...]:
    """Regime, time, throughput, utilisation, memory, shift, power, trust. `along` is what is known
    of the batch, if it was `searched`."""
    return _regime, _time, _rate, _use, _memory, partial(_shift, along, searched), _power, _trust


def _regime(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    p, theme = answer.prediction, paint.theme
    ink = theme.regime(p.regime).ink
    paint.box(
        QRectF(x, 20, 40, 40),
        mixed(theme.regime(p.regime).fill, theme.bg1, 0.16),
        mixed(ink, theme.bg1, 0.5),
        6,
    )
    paint.mark(p.regime, x + 20, 41 if p.regime == "compute" else 40, 9)
    at, room = x + 52, wide - 52
    paint.text(at, 26, f"{p.regime.capitalize()}-bound", ink, HEAD_PX, 600, room=room)
    _shares(paint, QRectF(at, 45, room, 9), p)
    words = [f"{percent(p.shares[r])} {r}" for r in REGIMES]
    taken = sum(width(said) + 11 for said in words)
    if taken + 2 * 10 > wide:  # the one that rules is named above
        words = [
            said if r != p.regime else percent(p.shares[r])
            for r, said in zip(REGIMES, words, strict=True)
        ]
        taken = sum(width(said) + 11 for said in words)
    low = taken + 2 * 10 > room  # then the words begin below the mark
    at = x if low else at
    gap = min(14.0, max(2.0, ((wide if low else room) - taken) / 2))
    for regime, said in zip(REGIMES, words, strict=True):
        paint.mark(regime, at + 5, 75 if low else 71, 4.2)
        at = paint.text(at + 11, 75 if low else 71, said, theme.ink2, LABEL_PX).right() + gap


def _shares(paint: Paint, box: QRectF, p: Prediction) -> None:
    left = box.left()
    for regime in REGIMES:
        wide = p.shares[regime] * box.width()
        if wide > 0.5:
            shape = QRectF(left, box.top(), max(1.0, wide - 1.5), box.height())
            paint.area(shape, regime, radius=2)
        left += wide


def _time(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    p, theme = answer.prediction, paint.theme
    scale, unit = seconds_unit(p.period_s, 2)
    paint.text(x, _LABEL_Y, "Time, 80% interval", theme.ink3, LABEL_PX, room=wide)
    ink = theme.ink if p.fits else theme.ink3
    box = paint.text(x, _FIGURE_Y, number(p.period_s / scale, 2), ink, TIME_PX, 600)
    paint.text(box.right() + 5, _FIGURE_Y + 4, unit, theme.ink2, BODY_PX)
    low, high = (number(bound / scale, 2) for bound in p.interval_s)
    said = f"{low} to {high}"
    room = max(30.0, wide - width(said, SUPPORT_PX) - 10)
    paint.area(QRectF(x, _SAID_Y - 2, room, 4), theme.bg3, radius=2)
    ends = [x + room * _along_track(b / p.period_s if p.period_s else 1.0) for b in p.interval_s]
    if p.tiers.get("interpolated"):
        paint.area(QRectF(ends[0], _SAID_Y - 4, ends[1] - ends[0], 8), theme.line2, radius=2)
    else:
        paint.line([(ends[0], _SAID_Y), (ends[1], _SAID_Y)], theme.ink3, 6, dotted=True)
    paint.area(QRectF(x + room / 2 - 1, _SAID_Y - 7, 2, 14), theme.ink)
    paint.text(x + wide, _SAID_Y, said, theme.ink2, SUPPORT_PX, align=1.0)


def _along_track(ratio: float) -> float:
    return min(1.0, max(0.0, 0.5 + (ratio - 1) / (2 * _REACH)))


def _figure(
    paint: Paint,
    x: float,
    wide: float,
    label: str,
    figure: str,
    unit: str,
    said: str,
    danger: bool = False,
) -> None:
    theme = paint.theme
    paint.text(x, _LABEL_Y, label, theme.ink3, LABEL_PX, room=wide)
    box = paint.text(x, _FIGURE_Y, figure, theme.danger if danger else theme.ink, HEAD_PX, 600)
    room = x + wide - box.right() - 5
    paint.text(box.right() + 5, _FIGURE_Y + 3, unit, theme.ink2, SUPPORT_PX, room=room)
    ink = theme.danger if danger else theme.ink2
    paint.text(x, _SAID_Y, said, ink, SUPPORT_PX, room=wide)


def _rate(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    t = answer.totals
    tokens = t.tokens_per_s is not None and t.tokens_per_s != t.samples_per_s
    rate = t.tokens_per_s if tokens and t.tokens_per_s else t.samples_per_s
    text = scaled(rate, "")
    figure, _, prefix = text.partition(" ")
    unit = f"{prefix} {'tokens' if tokens else 'samples'}/s".strip()
    said = (
        f"{number(t.samples_per_s)} samples/s"
        if tokens
        else (f"{answer.subject.batch:,} every {seconds(answer.prediction.period_s, 2)}")
    )
    _figure(paint, x, wide, "Throughput", figure, unit, said)


def _use(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    t, p = answer.totals, answer.prediction
    unit = f"of {scaled(t.peak_flops_per_s, 'FLOP/s')}" if t.peak_flops_per_s else ""
    said = f"GPU busy {percent(t.busy_share)}, {seconds(p.gpu_busy_s, 2)}"
    engine = t.engine.partition(" on ")[2].removesuffix(" units") or "peak"
    label = f"Utilisation of {engine} peak" if engine != "peak" else "Utilisation"
    _figure(paint, x, wide, label, percent(t.utilisation), unit, said)


def _memory(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    p, theme = answer.prediction, paint.theme
    need, room = p.peak_memory_bytes + p.workspace_bytes, p.gpu.memory_bytes
    figure, _, unit = data(need).partition(" ")
    whole = trimmed(data(room))
    said = f"fits, {percent(need / room)} of {whole}" if p.fits else f"does not fit {whole}"
    if p.fits and width(said, SUPPORT_PX) > wide:
        said = f"fits in {whole}"
    _figure(paint, x, wide, "Memory on the GPU", figure, unit, said, not p.fits)
    bar = QRectF(x, _BAR_Y - 4, wide, 4)
    paint.area(bar, theme.bg3, radius=2)
    used = max(2.0, min(1.0, need / room) * wide)
    paint.area(QRectF(x, _BAR_Y - 4, used, 4), theme.ink2 if p.fits else theme.danger, radius=2)


def _shift(
    along: BatchRegimes | None, searched: bool, paint: Paint, x: float, wide: float, answer: Answer
) -> None:
    theme = paint.theme
    paint.text(x, _LABEL_Y, "Next regime shift, over batch", theme.ink3, LABEL_PX, room=wide)
    track = QRectF(x, 37, wide, 9)
    if along is None or not along.spans:
        paint.area(track, theme.bg3, radius=2)
        said = "not known for this network" if searched else "looking along the batch …"
        if answer.scenario.trace_file is not None:
            said = "the batch is fixed in a saved trace"
        paint.text(x, 66, said, theme.ink3, SUPPORT_PX, room=wide)
        return
    most = log2(max(2.0, along.spans[-1][1]))
    for first, last, regime in along.spans:
        left, right = wide * log2(first) / most, wide * log2(max(1.0, last)) / most
        shape = QRectF(x + left, track.top(), max(1.5, right - left - 1.5), track.height())
        paint.area(shape, regime, radius=2)
    at = x + wide * log2(answer.subject.batch) / most
    painter = paint.painter
    painter.setPen(theme.bg1)
    painter.setBrush(theme.ink)
    painter.drawPolygon(QPolygonF([QPointF(at - 5, 29), QPointF(at + 5, 29), QPointF(at, 37)]))
    first, second = along.words(answer.prediction.regime)
    paint.text(x, 61, elided(first, wide, SUPPORT_PX, 600), theme.ink, SUPPORT_PX, 600)
    paint.text(x, _SAID_Y, second, theme.ink2, SUPPORT_PX, room=wide)


def _power(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    power = answer.prediction.power
    if power is None:
        _figure(paint, x, wide, "Power", "unknown", "", "")
        return
    said = clocks(power) if power.limited else f"{joules(power.joules, 2)} a step"
    unit = "W, limit" if power.limited else f"of {number(power.limit_w)} W"
    _figure(paint, x, wide, "Power", number(power.watts), unit, said)


def _trust(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    p, theme = answer.prediction, paint.theme
    paint.text(x, _LABEL_Y, "Trust", theme.ink3, LABEL_PX)
    tier = max(p.tiers, key=lambda name: p.tiers[name], default="datasheet")
    sure = tier in ("measured", "interpolated")
    box = QRectF(x, 32, min(wide, width(tier, SUPPORT_PX, 600) + 12), 22)
    paint.box(box, theme.bg3 if sure else "", theme.line2, 4, dashed=not sure)
    ink = theme.ink if sure else theme.c
    paint.text(box.center().x(), 43, tier, ink, SUPPORT_PX, 600, 0.5, room=box.width() - 4)
    count = sum(p.unmodelled.values())
    if count:
        said = f"{count:,} ops unmodelled" if count > 1 else "1 op unmodelled"
        paint.text(x, 69, said, theme.danger, LABEL_PX, 600, room=wide)
        return
    paint.text(x, 69, f"{percent(p.tiers.get(tier, 1.0))} of time", theme.ink2, LABEL_PX, room=wide)
