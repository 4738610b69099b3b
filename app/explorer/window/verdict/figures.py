"""Paint the figures of the verdict bar, each from pixel `x` and `wide` pixels wide.

A narrow column shows a shorter text rather than a truncated one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import log2

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPolygonF

from app.answers.answer import Answer, BatchRegimes
from app.answers.power import clocks, is_above_limit
from app.quantities import data, joules, number, percent, scaled, seconds, seconds_unit, trimmed
from app.theme import BODY_PX, FIGURE_PX, HEAD_PX, LABEL_PX, SUPPORT_PX, mixed
from app.widgets.paint import Paint, fitting, width
from app.widgets.style import TIME_PX
from simulator.prediction import REGIMES, Prediction

_LABEL_Y, _FIGURE_Y, _BAR_Y, _NOTE_Y = 19.0, 43.0, 63.0, 77.0
_REACH = 0.3
"""The track of the interval spans ±30% of the time."""
_MARK_PX = 13.0
"""Distance from the left edge of a regime's mark to its text, in pixels."""


Draw = Callable[[Paint, float, float, Answer], None]


def figures(along: BatchRegimes | None, searched: bool) -> tuple[Draw, ...]:
    """The painters of the columns, in their order. `along` has the regimes along the batch once it
    is `searched`."""
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
    title = f"{p.regime.capitalize()}-bound"
    sizes = (HEAD_PX, FIGURE_PX, BODY_PX)
    px = next((px for px in sizes if width(title, px, 600) <= room), SUPPORT_PX)
    paint.text(at, 26, title, ink, px, 600, room=room)
    _shares(paint, QRectF(at, 45, room, 9), p)
    words = [f"{percent(p.shares[r])} {r}" for r in REGIMES]
    if _marked_width(words) + 2 * 6 > wide:  # the title names the regime of the step
        words = [
            text if r != p.regime else percent(p.shares[r])
            for r, text in zip(REGIMES, words, strict=True)
        ]
    if _marked_width(words) + 2 * 2 > wide:  # only the marks identify the regimes
        words = [percent(p.shares[r]) for r in REGIMES]
    total = _marked_width(words)
    below = total + 2 * 10 > room  # if true, the texts begin below the mark
    at, y, room = (x, 75.0, wide) if below else (at, 71.0, room)
    gap = min(14.0, max(2.0, (room - total) / 2))
    for regime, text in zip(REGIMES, words, strict=True):
        paint.mark(regime, at + 5, y, 4.2)
        at = paint.text(at + _MARK_PX, y, text, theme.ink2, LABEL_PX).right() + gap


def _marked_width(words: list[str]) -> float:
    """The width of texts side by side, each after a mark, in pixels."""
    return sum(width(text) + _MARK_PX for text in words)


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
    label = fitting(wide, "Time, 80% interval", "Time, 80%", "Time")
    paint.text(x, _LABEL_Y, label, theme.ink3, LABEL_PX, room=wide)
    ink = theme.ink if p.fits else theme.ink3
    box = paint.text(x, _FIGURE_Y, number(p.period_s / scale, 2), ink, TIME_PX, 600)
    paint.text(box.right() + 5, _FIGURE_Y + 4, unit, theme.ink2, BODY_PX)
    low, high = (number(bound / scale, 2) for bound in p.interval_s)
    interval = f"{low} to {high}"
    room = max(24.0, wide - width(interval, SUPPORT_PX) - 8)
    paint.area(QRectF(x, _NOTE_Y - 2, room, 4), theme.bg3, radius=2)
    ends = [x + room * _along_track(b / p.period_s if p.period_s else 1.0) for b in p.interval_s]
    if p.tiers.get("interpolated"):
        paint.area(QRectF(ends[0], _NOTE_Y - 4, ends[1] - ends[0], 8), theme.line2, radius=2)
    else:
        paint.line([(ends[0], _NOTE_Y), (ends[1], _NOTE_Y)], theme.ink3, 6, dotted=True)
    paint.area(QRectF(x + room / 2 - 1, _NOTE_Y - 7, 2, 14), theme.ink)
    paint.text(x + wide, _NOTE_Y, interval, theme.ink2, SUPPORT_PX, align=1.0)


def _along_track(ratio: float) -> float:
    return min(1.0, max(0.0, 0.5 + (ratio - 1) / (2 * _REACH)))


def _figure(
    paint: Paint,
    x: float,
    wide: float,
    *,
    labels: Sequence[str],
    figure: str,
    units: Sequence[str],
    notes: Sequence[str],
    danger: bool = False,
) -> None:
    """A figure with its unit, below a label and above a note, each in its longest text that
    fits."""
    theme = paint.theme
    paint.text(x, _LABEL_Y, fitting(wide, *labels), theme.ink3, LABEL_PX, room=wide)
    box = paint.text(x, _FIGURE_Y, figure, theme.danger if danger else theme.ink, HEAD_PX, 600)
    left = box.right() + 5
    unit = fitting(x + wide - left, *units, px=SUPPORT_PX)
    paint.text(left, _FIGURE_Y + 3, unit, theme.ink2, SUPPORT_PX, room=x + wide - left)
    ink = theme.danger if danger else theme.ink2
    note = fitting(wide, *notes, px=SUPPORT_PX)
    paint.text(x, _NOTE_Y, note, ink, SUPPORT_PX, room=wide)


def _rate(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    t = answer.totals
    tokens = t.tokens_per_s is not None and t.tokens_per_s != t.samples_per_s
    rate = t.tokens_per_s if tokens and t.tokens_per_s else t.samples_per_s
    figure, _, prefix = scaled(rate, "").partition(" ")
    unit = "tokens/s" if tokens else "samples/s"
    full = f"{prefix} {unit}".strip()
    fits = width(figure, HEAD_PX, 600) + 5 + width(full, SUPPORT_PX) <= wide
    samples = number(t.samples_per_s)
    batch, period_s = answer.subject.batch, answer.prediction.period_s
    _figure(
        paint,
        x,
        wide,
        labels=["Throughput" if fits else unit.capitalize()],
        figure=figure,
        units=[full if fits else prefix],
        notes=(
            [f"{samples} samples/s", f"{samples} samples", f"{samples}/s"]
            if tokens
            else [f"{batch:,} every {seconds(period_s, 2)}", f"{batch:,} a step"]
        ),
    )


def _use(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    t, p = answer.totals, answer.prediction
    engine = t.engine.partition(" on ")[2].removesuffix(" units")
    peak = t.peak_flops_per_s
    busy = f"GPU busy {percent(t.busy_share)}"
    _figure(
        paint,
        x,
        wide,
        labels=[f"Utilisation of {engine} peak", "Utilisation"] if engine else ["Utilisation"],
        figure=percent(t.utilisation),
        units=[f"of {scaled(peak, 'FLOP/s')}", "of peak", ""] if peak else [""],
        notes=[f"{busy}, {seconds(p.gpu_busy_s, 2)}", busy, f"{percent(t.busy_share)} busy"],
    )


def _memory(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    p, theme = answer.prediction, paint.theme
    need, room = p.peak_memory_bytes + p.workspace_bytes, p.gpu.memory_bytes
    figure, _, unit = data(need).partition(" ")
    whole = trimmed(data(room))
    _figure(
        paint,
        x,
        wide,
        labels=["Memory on the GPU", "Memory"],
        figure=figure,
        units=[unit],
        notes=(
            [f"fits, {percent(need / room)} of {whole}", f"fits in {whole}", "fits"]
            if p.fits
            else [f"does not fit in {whole}", f"over {whole}"]
        ),
        danger=not p.fits,
    )
    bar = QRectF(x, _BAR_Y - 4, wide, 4)
    paint.area(bar, theme.bg3, radius=2)
    used = max(2.0, min(1.0, need / room) * wide)
    paint.area(QRectF(x, _BAR_Y - 4, used, 4), theme.ink2 if p.fits else theme.danger, radius=2)


def _shift(
    along: BatchRegimes | None, searched: bool, paint: Paint, x: float, wide: float, answer: Answer
) -> None:
    theme = paint.theme
    label = fitting(wide, "Next regime shift, over batch", "Next shift, over batch")
    paint.text(x, _LABEL_Y, label, theme.ink3, LABEL_PX, room=wide)
    track = QRectF(x, 37, wide, 9)
    if along is None or not along.spans:
        paint.area(track, theme.bg3, radius=2)
        note = "unknown for this network" if searched else "searching other batches …"
        if answer.scenario.trace_file is not None:
            note = "a saved trace has a fixed batch"
        note = fitting(wide, note, note.partition(" for ")[0], px=SUPPORT_PX)
        paint.text(x, 66, note, theme.ink3, SUPPORT_PX, room=wide)
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
    first = fitting(wide, first, first.replace("-bound", ""), px=SUPPORT_PX, weight=600)
    paint.text(x, 61, first, theme.ink, SUPPORT_PX, 600, room=wide)
    paint.text(x, _NOTE_Y, second, theme.ink2, SUPPORT_PX, room=wide)


def _power(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    power = answer.prediction.power
    if power is None:
        _figure(paint, x, wide, labels=["Power"], figure="unknown", units=[""], notes=[""])
        return
    energy = joules(power.joules, 2)
    notes = [f"{energy} a step", energy]
    labels = ["Power"]
    if power.limited:
        above = "above" if is_above_limit(power) else "at"
        labels = [f"Power, {above} its limit", f"{above.capitalize()} limit"]
        clock = f"{power.clock_hz * 1e-6:,.0f} MHz"
        notes = [f"{energy} a step, {clocks(power)}", f"{energy} a step, {clock}"]
        notes += [f"{energy}, {clocks(power)}", f"{energy}, {clock}", energy]
    _figure(
        paint,
        x,
        wide,
        labels=labels,
        figure=number(power.watts),
        units=[f"of {number(power.limit_w)} W", "W"],
        notes=notes,
    )


def _trust(paint: Paint, x: float, wide: float, answer: Answer) -> None:
    p, theme = answer.prediction, paint.theme
    paint.text(x, _LABEL_Y, "Trust", theme.ink3, LABEL_PX)
    tier = max(p.tiers, key=lambda name: p.tiers[name], default="datasheet")
    sure = tier in ("measured", "interpolated")
    px = SUPPORT_PX if width(tier, SUPPORT_PX, 600) + 10 <= wide else LABEL_PX
    box = QRectF(x, 32, min(wide, width(tier, px, 600) + 12), 22)
    paint.box(box, theme.bg3 if sure else "", theme.line2, 4, dashed=not sure)
    ink = theme.ink if sure else theme.c
    paint.text(box.center().x(), 43, tier, ink, px, 600, 0.5, room=box.width() - 4)
    count = sum(p.unmodelled.values())
    if count:
        note = f"{count:,} ops unmodelled" if count > 1 else "1 op unmodelled"
        paint.text(x, 69, note, theme.danger, LABEL_PX, 600, room=wide)
        return
    paint.text(x, 69, f"{percent(p.tiers.get(tier, 1.0))} of time", theme.ink2, LABEL_PX, room=wide)
