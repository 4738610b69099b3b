"""Beside the factory: who waits for whom, what one percent buys, what would help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.answers.answer import batch_and_seq
from app.quantities import faster, number, seconds
from app.scenes.factory import MARKS, Factory, Wait
from app.theme import BODY_PX, LABEL_PX, SUPPORT_PX, Theme
from app.widgets.paint import Paint
from simulator.errors import InputError
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply, parse

WIDE = 286
_ROW = 40
_TRIALS = (
    ("One order for everything", "CUDA graph", ("+cuda_graph",)),
    ("Fewer, larger orders", "compiled", ("+mode=compiled",)),
    ("Faster managers", "host twice as fast", ("+host_speed=2",)),
    ("A wider road", "twice the bandwidth", ("+bandwidth=2",)),
    ("Faster machines", "twice the FLOPs", ("+tensor_peak=2", "+vector_peak=2")),
)
_MORE = 4  # times the batch


@dataclass(frozen=True)
class Help:
    """One change: what it comes to for each sample, and the scenario that has it."""

    name: str
    what: str
    before_s: float
    after_s: float
    scenario: Scenario

    @property
    def said(self) -> str:
        """Before and after."""
        change = faster(self.before_s, self.after_s)
        return f"{self.what}: {seconds(self.after_s)} a sample, {change}"


def helps(scenario: Scenario, now: Prediction, cancelled: Callable[[], bool]) -> tuple[Help, ...]:
    """What each change to the factory brings, the best first; what does not apply is left out."""
    batch, _ = batch_and_seq(scenario)
    trials = list(_TRIALS)
    if batch:
        trials.append(("Bigger orders", f"batch {_MORE * batch:,}", (f"+batch={_MORE * batch}",)))
    found: list[Help] = []
    for name, what, texts in trials:
        if cancelled():
            return ()
        changed = scenario
        try:
            for text in texts:
                changed = apply(changed, *parse(text))
            if changed != scenario:
                p = predict(changed)
                found.append(Help(name, what, _sample_s(now), _sample_s(p), changed))
        except InputError:
            continue
    return tuple(sorted(found, key=lambda each: each.after_s))


def _sample_s(p: Prediction) -> float:
    return p.period_s / max(1, p.trace.samples)


class Waits(QWidget):
    """Who waits for whom, and the shares."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.figures: Factory | None = None
        self.setAccessibleName("Who waits for whom")

    def show_figures(self, figures: Factory) -> None:
        """Of this factory."""
        self.figures = figures
        self.setFixedHeight(34 + _ROW * len(figures.waits) + 46 + 24 * 3 - 4)
        said = [f"{w.who} wait for {w.what} {seconds(w.seconds)}" for w in figures.waits]
        self.setAccessibleDescription("; ".join(said))
        self.setToolTip(
            "Seconds of one step among many; kernels' own times as the prediction has "
            "them:\nmachines wait for trucks while a kernel is bound by memory, trucks "
            "for machines while it is bound by compute"
        )
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        f = self.figures
        if f is None:
            return
        painter = QPainter(self)
        paint, theme = Paint(painter, self.theme), self.theme
        left, right = 16.0, self.width() - 16.0
        paint.text(left, 18, "Who waits for whom", theme.ink, BODY_PX, 600)
        paint.text(right, 18, "in a step", theme.ink3, LABEL_PX, align=1.0)
        y = 34.0
        for wait in f.waits:
            self._wait(paint, wait, f.prediction.period_s, y)
            y += _ROW
        paint.line([(0, y), (self.width(), y)], theme.line)
        head = paint.text(left, y + 19, "1% faster buys", theme.ink, BODY_PX, 600)
        paint.text(head.right() + 8, y + 19, "the three shares", theme.ink3, LABEL_PX)
        y += 46
        for name in ("Managers", "Trucks", "Machines"):
            regime = MARKS[name]
            share = f.prediction.shares[regime]
            paint.mark(regime, left + 6, y, 5)
            paint.text(left + 20, y, name, theme.ink, SUPPORT_PX)
            track = QRectF(left + 96, y - 5, right - left - 156, 10)
            paint.area(track, theme.bg3, radius=2)
            if share > 0.001:
                wide = max(2.0, share * track.width())
                paint.area(QRectF(track.left(), track.top(), wide, 10), regime, radius=2)
            said = f"{number(share, 2)}%" if share >= 0.005 else "0%"
            paint.text(right, y, said, theme.ink, SUPPORT_PX, 600, 1.0)
            y += 24
        painter.end()

    def _wait(self, paint: Paint, wait: Wait, whole_s: float, y: float) -> None:
        theme, left, right = self.theme, 16.0, self.width() - 16.0
        nobody = wait.seconds < 1e-3 * whole_s
        own = MARKS.get(wait.who)
        x = left
        if own:
            paint.mark(own, x + 6, y + 9, 4.6)
            x += 18
        who = paint.text(x, y + 9, wait.who, theme.ink, SUPPORT_PX, 500)
        verb = paint.text(who.right() + 5, y + 9, "wait for", theme.ink3, SUPPORT_PX)
        paint.text(
            verb.right() + 5,
            y + 9,
            wait.what,
            theme.ink,
            SUPPORT_PX,
            500,
            room=right - verb.right() - 6,
        )
        track = QRectF(left, y + 20, right - left - 70, 10)
        paint.area(track, theme.bg3, radius=2)
        share = min(1.0, wait.seconds / whole_s) if whole_s else 0.0
        if share > 0.001:
            box = QRectF(track.left(), track.top(), max(2.0, share * track.width()), 10)
            paint.area(box, wait.shape, radius=2)
        said = "never" if nobody else seconds(wait.seconds)
        paint.text(right, y + 25, said, theme.ink3 if nobody else theme.ink, SUPPORT_PX, 600, 1.0)


class HelpPanel(QScrollArea):
    """The panel; `applied` is a scenario to go to."""

    applied = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFixedWidth(WIDE)
        self.setAccessibleName("Who waits for whom, and what would help")
        inside = QWidget()
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(0, 2, 0, 8)
        self.column.setSpacing(2)
        self.waits = Waits(theme)
        self.column.addWidget(self.waits)
        self.head = QLabel("What would help")
        self.head.setProperty("tone", "title")
        self.head.setContentsMargins(16, 6, 12, 2)
        self.column.addWidget(self.head)
        self.rows: list[QWidget] = []
        self.column.addStretch(1)
        self.setWidget(inside)

    def show_helps(self, found: tuple[Help, ...]) -> None:
        """These changes; the first is the best."""
        for row in self.rows:
            row.hide()
            self.column.removeWidget(row)
            row.deleteLater()
        self.rows = []
        for place, each in enumerate(found):
            row = self._row(each, place == 0 and each.after_s < 0.98 * each.before_s)
            self.column.insertWidget(2 + place, row)
            self.rows.append(row)

    def _row(self, each: Help, best: bool) -> QWidget:
        row = QWidget()
        across = QHBoxLayout(row)
        across.setContentsMargins(16, 3, 12, 3)
        words = QVBoxLayout()
        words.setSpacing(0)
        name, said = QLabel(each.name), QLabel(each.said)
        name.setProperty("tone", "title")
        said.setProperty("tone", "label")
        said.setWordWrap(True)
        words.addWidget(name)
        words.addWidget(said)
        across.addLayout(words, 1)
        button = QPushButton("Apply")
        button.setAccessibleName(f"Apply {each.name}: {each.said}")
        if best:
            button.setProperty("look", "primary")
        button.clicked.connect(lambda: self.applied.emit(each.scenario))
        across.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)
        return row

    def restyle(self, theme: Theme) -> None:
        """Another theme."""
        self.waits.theme = theme
        self.waits.update()
