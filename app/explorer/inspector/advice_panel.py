"""Advice in the inspector: changes with their end-to-end gain, each with a button to apply it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.answers.advice_words import GROUPS, group, sentence
from app.answers.own_batch import with_own_batch
from app.answers.subject import to_full_text
from app.explorer.background.advising import AdviceResult
from app.explorer.state.session import Session
from app.quantities import between, number, percent, seconds, seconds_unit
from app.theme import LABEL_PX, SUPPORT_PX, Theme
from app.widgets.columns import empty
from app.widgets.context_menu import add_actions
from app.widgets.elided_label import Elided
from app.widgets.paint import Paint, fitting
from simulator.analysis.advice import Advice, sample_s
from simulator.errors import InputError
from simulator.prediction import REGIMES, Prediction, Regime

_TOP, _ROW_PX, _TRACK = 3, 18, 30.0
"""The number of pieces of advice per group; the height of a gain, and the width of its bar."""


def effect(base: Prediction, advice: Advice) -> str:
    """The times before and after in one unit, with the interval of the new time: "5.7 to 4.0 ms
    (3.6 to 4.4)"; per item if the numbers of samples differ."""
    if abs(advice.period_s / advice.sample_s - base.period_s / sample_s(base)) > 0.5:
        return f"per item; step time {seconds(advice.period_s, 2)}"
    scale, unit = seconds_unit(base.period_s, 2)
    before, after = (number(s / scale, 2) for s in (base.period_s, advice.period_s))
    return f"{before} to {after} {unit} ({_interval(advice, scale)})"


def _interval(advice: Advice, scale: float) -> str:
    low, high = (number(bound / scale, 2) for bound in advice.interval_s)
    return f"{low} to {high}"


class Gain(QWidget):
    """The gain of one piece of advice: regime mark, bar, percentage, and times before and after."""

    def __init__(self, theme: Theme, base: Prediction, advice: Advice, most: float) -> None:
        super().__init__()
        self.theme, self.base, self.advice, self.most = theme, base, advice, most
        self.setFixedHeight(_ROW_PX)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.fits = ", then fits" if advice.fits and not base.fits else ""
        """Appended to advice that makes the step fit in memory."""
        summary = f"{sentence(advice)} −{percent(advice.gain)}, {effect(base, advice)}{self.fits}"
        self.setAccessibleName(summary)
        low, high = advice.interval_s
        step = f"{seconds(advice.period_s)} per step, {between(low, high, advice.period_s)}"
        reasons = advice.cause, advice.warning, advice.caution
        self.setToolTip("\n".join(x for x in (summary, step, *reasons) if x))

    def sizeHint(self) -> QSize:
        return QSize(200, _ROW_PX)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint, theme, wide = Paint(painter, self.theme), self.theme, float(self.width())
        y = _ROW_PX / 2
        paint.mark(relieved(self.base, self.advice), 6, y, 4.4)
        paint.area(QRectF(18, y - 3, _TRACK, 6), theme.bg3, radius=2)
        part = max(2.0, _TRACK * self.advice.gain / self.most)
        paint.area(QRectF(18, y - 3, part, 6), theme.b, radius=2)
        gain = f"−{percent(self.advice.gain)}"
        left = paint.text(18 + _TRACK + 8, y, gain, theme.ink, SUPPORT_PX, 600).right() + 8
        full = effect(self.base, self.advice)
        short = full.partition(" (")[0].partition(";")[0]
        times = fitting(wide - left, *(f"{words}{self.fits}" for words in (full, short)))
        paint.text(wide, y, times, theme.ink2, LABEL_PX, align=1.0, room=wide - left)
        painter.end()


def relieved(base: Prediction, advice: Advice) -> Regime:
    """The regime named first in the cause of the advice; by default, the regime of the step."""
    first = advice.cause.split(" ")[0]
    regimes: dict[str, Regime] = {regime: regime for regime in REGIMES}
    return regimes.get(first, base.regime)


class AdvicePanel(QWidget):
    """The best pieces of advice, and the progress of the search."""

    more_requested = Signal()
    refused = Signal(str)
    """The reason why no scenario can be added."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session, self.theme = session, theme
        self.shown_advice: AdviceResult | None = None
        self.setAccessibleName("Advice")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(6)
        head = QHBoxLayout()
        name = QLabel("Advice")
        name.setProperty("tone", "title")
        self.state = Elided()
        self.state.setProperty("tone", "quiet")
        head.addWidget(name)
        head.addWidget(self.state, 1)
        column.addLayout(head)
        self.rows = QVBoxLayout()
        self.rows.setSpacing(6)
        column.addLayout(self.rows)
        self.more = QToolButton()
        self.more.setProperty("look", "quiet")
        self.more.setAccessibleName("Trace and try more")
        self.more.setToolTip("These what-ifs change the ops, so the network must be traced again")
        self.more.clicked.connect(self._request_more)
        self.more.hide()
        column.addWidget(self.more)

    def wait(self) -> None:
        """Clear the advice of the previous scenario."""
        self.shown_advice = None
        empty(self.rows)
        self.more.hide()
        self.state.say("searching …")

    def count(self, tried: int) -> None:
        """Show the number of trials."""
        if self.shown_advice is None:
            self.state.say(f"{tried} what-ifs tried …")

    def fail(self, reason: str) -> None:
        """Show why there is no advice."""
        self.state.say(reason)

    def show_advice(self, result: AdviceResult) -> None:
        """Show the advice."""
        self.shown_advice = result
        empty(self.rows)
        any_advice = bool(result.advised.advice)
        self.state.say("end-to-end, simulated" if any_advice else "no change gains 0.5% or more")
        self._offer_more(result.missing)
        all_advice = result.advised.advice
        most = max((a.gain for a in all_advice), default=1.0)
        for name in GROUPS:
            chosen = [a for a in all_advice if group(a) == name][:_TOP]
            if chosen:
                label = QLabel(name)
                label.setProperty("tone", "label")
                self.rows.addWidget(label)
            for advice in chosen:
                self.rows.addWidget(self._row(result, advice, most))

    def _row(self, result: AdviceResult, advice: Advice, most: float) -> QFrame:
        """A piece of advice and its gain, beside the button that applies it."""
        row = QFrame()
        row.setProperty("look", "plain")
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        column = QVBoxLayout()
        column.setSpacing(0)
        cost = result.costs.get(advice.whatif, "")
        short = cost.partition(" per sample")[0]
        words = QLabel(f"{sentence(advice)[:-1]}, {short}." if short else sentence(advice))
        words.setToolTip(cost[:1].upper() + cost[1:])
        words.setProperty("tone", "advice")
        words.setWordWrap(True)
        column.addWidget(words)
        column.addWidget(Gain(self.theme, result.advised.baseline, advice, most))
        button = QPushButton("Apply")
        if advice is result.advised.advice[0]:
            button.setProperty("look", "primary")
        button.setAccessibleName(f"Apply: {sentence(advice)}")
        button.setToolTip(advice.command)
        button.clicked.connect(lambda _=False, a=advice: self._apply(a))
        add_actions(
            row,
            "the advice",
            ("Apply", button.click),
            ("Add as a scenario", lambda: self._add(advice)),
            ("Copy as command", lambda: QGuiApplication.clipboard().setText(advice.command)),
        )
        line.addLayout(column, 1)
        line.addWidget(button, 0, Qt.AlignmentFlag.AlignBottom)
        return row

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        for gain in self.findChildren(Gain):
            gain.theme = theme
            gain.update()

    def _offer_more(self, missing: int) -> None:
        self.more.setVisible(missing > 0)
        self.more.setText(f"Trace and try {missing} more")
        self.more.setAccessibleName(self.more.text())

    def _request_more(self) -> None:
        self.more.hide()
        self.state.say("tracing …")
        self.more_requested.emit()

    def _add(self, advice: Advice) -> None:
        try:
            name = to_full_text(advice.scenario.whatifs[-1])
            self.session.add(name, with_own_batch(advice.scenario))
        except InputError as error:
            self.refused.emit(str(error))

    def _apply(self, advice: Advice) -> None:
        name = to_full_text(advice.scenario.whatifs[-1])
        self.session.set_scenario(with_own_batch(advice.scenario), name)
