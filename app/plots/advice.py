"""Advice as bars: what each what-if saves end to end, with interval and cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QFontMetricsF

from app.answers.subject import to_full_text
from app.plots.lines import Stroke, polyline
from app.plots.marks import Area, rectangle
from app.plots.picture import Picture
from app.quantities import percent, seconds
from app.theme import LABEL_PX, SUPPORT_PX, Theme
from app.widgets.fonts import font

if TYPE_CHECKING:
    from simulator.analysis.advice import Advice, Advised

WIDE_PX, _ROW_PX, _LINE_PX, _HEAD_PX = 1160, 46, 16, 96
_TO = 1.9  # end of the axis: bars end at 1, texts are right of them
_WHAT = {"code": "code", "what is computed": "changes results", "machine": "hardware"}


class AdvicePicture(Picture):
    """The best pieces of advice, the largest gain on top."""

    def __init__(self, theme: Theme, advised: Advised, heading: str, top: int) -> None:
        chosen = advised.advice[:top]
        self.causes = [broken(a.warning or a.cause) for a in chosen]
        lines = max((text.count("\n") + 1 for text in self.causes), default=1)
        row_px = _ROW_PX + _LINE_PX * max(0, lines - 2)  # two lines have room as it is
        self.SIZE = (WIDE_PX, _HEAD_PX + 44 + row_px * max(1, len(chosen)))
        base = advised.baseline
        saved = {"time": "time per sample", "memory": "memory", "money": "money per sample"}[
            advised.by
        ]
        super().__init__(
            theme,
            heading,
            f"{seconds(base.period_s)} per step, {base.regime}-bound. Bars: share of {saved} saved "
            "end to end, each what-if alone. Lines: 80% interval of the new step",
        )
        self.chart = self.plot()
        self.chart.getAxis("left").setWidth(8)
        self.chart.setXRange(0, _TO, padding=0)
        self.chart.setYRange(-0.6, max(1, len(chosen)) - 0.4, padding=0)
        self.ticks(self.chart, "left", [], grid=False)
        shares = [(i / 4, percent(i / 4)) for i in range(5)]
        self.ticks(self.chart, "bottom", shares, grid=False)
        for index, advice in enumerate(chosen):
            self._row(len(chosen) - 1 - index, advice, advised, self.causes[index])
        if not chosen:
            self.pill(self.chart, "no what-if saves 0.5% or more", 0.5, 0)

    def _row(self, y: int, advice: Advice, advised: Advised, cause: str) -> None:
        theme = self.theme
        track = rectangle(0, y - 0.42, 1, y - 0.2)
        self.chart.addItem(Area(theme, theme.bg3, track))
        gain = max(0.0, min(1.0, advice.gain))
        colour = theme.b if advice.fits else theme.danger
        self.chart.addItem(Area(theme, colour, rectangle(0, y - 0.42, gain, y - 0.2)))
        if advised.by == "time":
            self._interval(y, advice, advised)
        name = " ".join(map(to_full_text, advice.applied))
        self.pill(self.chart, name, 0, y + 0.06, theme.ink, (0.0, 0.5), 600, SUPPORT_PX, False)
        self.pill(
            self.chart,
            _WHAT[advice.changes],
            1,
            y + 0.06,
            theme.ink3,
            (1.0, 0.5),
            400,
            LABEL_PX,
            False,
        )
        figures = f"−{percent(advice.gain)}   {seconds(advice.period_s)} a step"
        at = (1.02, y - 0.31)
        self.pill(self.chart, figures, *at, theme.ink, (0.0, 0.5), 600, SUPPORT_PX, False)
        ink = theme.c if advice.warning else theme.ink3
        self.pill(self.chart, cause, 1.02, y - 0.12, ink, (0.0, 1.0), 400, LABEL_PX, False)

    def _interval(self, y: int, advice: Advice, advised: Advised) -> None:
        """The gain at both ends of the interval of the new step."""
        samples = advice.period_s / advice.sample_s if advice.sample_s else 1.0
        before = advised.baseline.period_s / max(advised.baseline.trace.samples, 1)
        ends = [1 - high / samples / before for high in advice.interval_s]
        points = [(min(1.0, max(0.0, end)), y - 0.31) for end in ends]
        stroke = Stroke(polyline(points), self.theme.ink, 1.6, casing=self.theme.bg1)
        self.chart.addItem(stroke)


def broken(text: str) -> str:
    """Wrap a sentence to the width right of the bars."""
    room = (WIDE_PX - 60) * (_TO - 1.04) / _TO
    metrics = QFontMetricsF(font(LABEL_PX))
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and metrics.horizontalAdvance(longer) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return "\n".join(lines)
