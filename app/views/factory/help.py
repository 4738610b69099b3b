"""The panel next to the factory: the waits between its parts, the gain if a part were 1% faster,
and what-ifs to try.
"""

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
from app.answers.own_batch import with_own_batch
from app.quantities import faster, number, seconds
from app.scenes.factory import MARKS, Factory, Wait
from app.theme import BODY_PX, LABEL_PX, SUPPORT_PX, Theme
from app.widgets.columns import discard
from app.widgets.paint import Paint
from simulator.errors import InputError
from simulator.prediction import Prediction, Regime
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply, parse

WIDE = 286
_ROW = 40
_TRIALS = (
    ("One order for all kernels", "CUDA graph", ("+cuda_graph",)),
    ("Faster managers", "host twice as fast", ("+host_speed=2",)),
    ("A wider road", "twice the bandwidth", ("+bandwidth=2",)),
    ("Faster machines", "twice the FLOPs", ("+tensor_peak=2", "+vector_peak=2")),
)
_FASTER: dict[str, Regime] = {
    "Managers, starts": "overhead",  # the share of overhead includes starts and ends of kernels
    "Trucks": "memory",
    "Machines": "compute",
}
_COMPILED = {"cuda_graph": "+fusion=compiled"}  # a captured step remains captured
_BATCH_FACTOR = 4


@dataclass(frozen=True)
class Improvement:
    """A change to the scenario, with the time per sample before and after it."""

    name: str
    effect: str
    before_s: float
    after_s: float
    scenario: Scenario

    @property
    def summary(self) -> str:
        """The change, the time per sample with it, and the speed-up."""
        change = faster(self.before_s, self.after_s)
        return f"{self.effect}: {seconds(self.after_s)} per sample, {change}"


def improvements(
    scenario: Scenario, current: Prediction, cancelled: Callable[[], bool]
) -> tuple[Improvement, ...]:
    """Predict each applicable change to the factory, and return them best first."""
    batch, _ = batch_and_seq(scenario)
    compiled = _COMPILED.get(scenario.mode, "+mode=compiled")
    trials = [*_TRIALS, ("Fewer, larger orders", "torch.compile", (compiled,))]
    if batch:
        trials.append(
            (
                "Larger orders",
                f"batch {_BATCH_FACTOR * batch:,}",
                (f"+batch={_BATCH_FACTOR * batch}",),
            )
        )
    predicted: list[Improvement] = []
    for name, effect, texts in trials:
        if cancelled():
            return ()
        changed = scenario
        try:
            for text in texts:
                changed = apply(changed, *parse(text))
            if changed != scenario:
                p = predict(changed)
                predicted.append(
                    Improvement(
                        name, effect, _sample_s(current), _sample_s(p), with_own_batch(changed)
                    )
                )
        except InputError:
            continue
    return tuple(sorted(predicted, key=lambda change: change.after_s))


def _sample_s(p: Prediction) -> float:
    return p.period_s / max(1, p.trace.samples)


class Waits(QWidget):
    """Who waits for whom, and the shares of the regimes."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.figures: Factory | None = None
        self.setAccessibleName("Who waits for whom")

    def show_figures(self, figures: Factory) -> None:
        """Show the waits of a factory."""
        self.figures = figures
        self.setFixedHeight(34 + _ROW * len(figures.waits) + 46 + 24 * 3 - 4)
        waits = [f"{w.who} wait for {w.what} {seconds(w.seconds)}" for w in figures.waits]
        self.setAccessibleDescription("; ".join(waits))
        self.setToolTip(
            "Times per step, in a loop of steps. Machines wait for trucks during memory-bound "
            "kernels,\ntrucks wait for machines during compute-bound kernels."
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
        paint.text(right, 18, "per step, in a loop", theme.ink3, LABEL_PX, align=1.0)
        y = 34.0
        for wait in f.waits:
            self._wait(paint, wait, f.prediction.period_s, y)
            y += _ROW
        paint.line([(0, y), (self.width(), y)], theme.line)
        head = paint.text(left, y + 19, "1% faster saves", theme.ink, BODY_PX, 600)
        paint.text(head.right() + 8, y + 19, "of the step's time", theme.ink3, LABEL_PX)
        y += 46
        for name, regime in _FASTER.items():
            share = f.prediction.shares[regime]
            paint.mark(regime, left + 6, y, 5)
            paint.text(left + 20, y, name, theme.ink, SUPPORT_PX)
            track = QRectF(left + 128, y - 5, right - left - 188, 10)
            paint.area(track, theme.bg3, radius=2)
            if share > 0.001:
                wide = max(2.0, share * track.width())
                paint.area(QRectF(track.left(), track.top(), wide, 10), regime, radius=2)
            words = f"{number(share, 2)}%" if share >= 0.005 else "0%"
            paint.text(right, y, words, theme.ink, SUPPORT_PX, 600, 1.0)
            y += 24
        painter.end()

    def _wait(self, paint: Paint, wait: Wait, whole_s: float, y: float) -> None:
        theme, left, right = self.theme, 16.0, self.width() - 16.0
        never = wait.seconds < 1e-3 * whole_s
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
        words = "never" if never else seconds(wait.seconds)
        paint.text(right, y + 25, words, theme.ink3 if never else theme.ink, SUPPORT_PX, 600, 1.0)


class HelpPanel(QScrollArea):
    """The panel; `applied` emits the scenario of the selected improvement."""

    applied = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFixedWidth(WIDE)
        self.setAccessibleName("Who waits for whom, and possible improvements")
        inside = QWidget()
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(0, 2, 0, 8)
        self.column.setSpacing(2)
        self.waits = Waits(theme)
        self.column.addWidget(self.waits)
        self.head = QLabel("Possible improvements")
        self.head.setProperty("tone", "title")
        self.head.setContentsMargins(16, 6, 12, 2)
        self.column.addWidget(self.head)
        self.rows: list[QWidget] = []
        self.column.addStretch(1)
        self.setWidget(inside)

    def show_improvements(self, shown: tuple[Improvement, ...]) -> None:
        """Show improvements, best first."""
        for row in self.rows:
            self.column.removeWidget(row)
            discard(row)
        self.rows = []
        for place, change in enumerate(shown):
            row = self._row(change, place == 0 and change.after_s < 0.98 * change.before_s)
            self.column.insertWidget(2 + place, row)
            self.rows.append(row)

    def _row(self, change: Improvement, best: bool) -> QWidget:
        row = QWidget()
        across = QHBoxLayout(row)
        across.setContentsMargins(16, 3, 12, 3)
        words = QVBoxLayout()
        words.setSpacing(0)
        name, summary = QLabel(change.name), QLabel(change.summary)
        name.setProperty("tone", "title")
        summary.setProperty("tone", "label")
        summary.setWordWrap(True)
        words.addWidget(name)
        words.addWidget(summary)
        across.addLayout(words, 1)
        button = QPushButton("Apply")
        button.setAccessibleName(f"Apply {change.name}: {change.summary}")
        if best:
            button.setProperty("look", "primary")
        button.clicked.connect(lambda: self.applied.emit(change.scenario))
        across.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)
        return row

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.waits.theme = theme
        self.waits.update()
