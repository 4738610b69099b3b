"""From one side to another: the effect of each change, changed kernels, and changed regimes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QStackedLayout, QVBoxLayout, QWidget

from app.answers.changed_labels import relabelled
from app.answers.side import Question, Side
from app.formulas.changes import from_a_to_b, one_step
from app.formulas.formula import Formula
from app.quantities import signed_seconds
from app.report.comparisons.conclusion import conclusion
from app.scenes.sweep.curves import CancelledError, or_none
from app.theme import Theme
from app.views.compare.counts import Counts, counts
from app.views.compare.kernels import MovedKernels
from app.views.compare.nothing_to_compare import NothingToCompare
from app.views.compare.parts import Regimes, saved_by_rate
from app.views.compare.table import Compared
from app.views.compare.verdicts import Verdicts
from app.views.compare.waterfall import WaterfallCanvas
from app.views.op_entries import op_entries
from app.widgets.canvas import Canvas
from app.widgets.context_menu import Entry, make_selectable
from app.widgets.view import View
from simulator.analysis.compare import Moved, Waterfall, waterfall
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict


class Compare(View):
    """The baseline against the current side, or against the second side if the baseline is current.
    Selecting kernels selects their ops."""

    title = "From A to B"
    workspace = "Compare"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setMinimumSize(560, 240)  # usable size, so that small windows need not grow
        self.pair: tuple[Side, Side] | None = None
        self.current: Side | None = None
        self.fall: Waterfall | None = None
        self.shown_key = ""
        self.chosen: frozenset[int] = frozenset()
        self.stack = QStackedLayout(self)
        self.nothing = NothingToCompare(theme)
        self.nothing.added.connect(self.added)
        self.verdicts = Verdicts(theme)
        self.conclusion = QLabel()
        self.conclusion.setTextFormat(Qt.TextFormat.PlainText)
        self.conclusion.setWordWrap(True)
        self.conclusion.setContentsMargins(14, 0, 14, 6)
        self.conclusion.setAccessibleName("Conclusion")
        make_selectable(self.conclusion)
        self.waterfall = WaterfallCanvas(theme)
        self.kernels = MovedKernels(theme)
        self.regimes = Regimes(theme)
        self.counts = Counts(theme)
        self.kernels.pressed_on.connect(self._pressed)
        self.stack.addWidget(self.nothing)
        self.stack.addWidget(self._comparison())
        self.setFocusProxy(self.waterfall)

    def _comparison(self) -> QWidget:
        """Verdicts at the top, waterfall and kernels below, then regimes and counts."""
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.verdicts)
        column.addWidget(self.conclusion)
        grid = QGridLayout()
        grid.setSpacing(6)
        for place, canvas in enumerate((self.waterfall, self.kernels, self.regimes, self.counts)):
            grid.addWidget(canvas, *divmod(place, 2))
        for line, (wide, high) in enumerate(((57, 58), (43, 42))):
            grid.setColumnStretch(line, wide)
            grid.setRowStretch(line, high)
        column.addLayout(grid, 1)
        return page

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.current = sides[current]
        self.nothing.show_side(sides[0])
        self.stack.setCurrentIndex(int(len(sides) > 1))
        if len(sides) < 2:
            self.pair, self.fall, self.shown_key = None, None, ""
            return
        a, b = self.pair = sides[0], sides[current or 1]
        letters = a.letter, b.letter
        self.verdicts.show_pair(a, b)
        fall = self.fall if self.shown_key == _key(self.pair) else None
        self.conclusion.setText(" ".join(conclusion(a, b, fall)))
        self.counts.show_counts(counts(a.prediction, b.prediction), letters)
        if self.shown_key != _key(self.pair):
            self.fall = None
            self.waterfall.show_fall(None, a, b)
            self.kernels.show_moved((), letters, ready=False)
            self.regimes.show_parts((), letters)

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        if len(sides) < 2:
            return None
        pair = sides[0], sides[current or 1]
        if self.shown_key == _key(pair):
            return None

        return or_none(lambda cancelled: (_key(pair), _fall(*pair, cancelled)))

    def fail(self, reason: str) -> None:
        if self.fall is None:
            self.waterfall.fail(reason)

    def answer(self, result: Any) -> None:
        if result is None or self.pair is None or result[0] != _key(self.pair):
            return
        self.shown_key, self.fall = result
        fall: Waterfall = result[1]
        a, b = self.pair
        letters = a.letter, b.letter
        self.conclusion.setText(" ".join(conclusion(a, b, fall)))
        self.waterfall.show_fall(fall, a, b)
        self.kernels.show_moved(fall.moved, letters)
        self.regimes.show_parts(fall.parts, letters, saved_by_rate(a, b))
        changes = [f"{s.label} {signed_seconds(s.change_s)}" for s in fall.steps]
        self.waterfall.setAccessibleDescription("; ".join(changes) or "the scenarios are identical")
        flips = [f"{p.part} from {p.before} to {p.after}" for p in fall.flipped]
        self.regimes.setAccessibleDescription("; ".join(flips) or "no regime changed")

    def pick(self, ops: frozenset[int]) -> None:
        """Highlight the kernels of these ops."""
        self.chosen = ops
        p = self.current.prediction if self.current else None
        self.kernels.chosen = kernels_of(p, ops) if p and ops else frozenset()
        self.kernels.update()

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.nothing.restyle(theme)
        for canvas in self.findChildren(Canvas):
            canvas.restyle(theme)

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        over, side = self.kernels.over, self.current
        if canvas is not self.kernels or not isinstance(over, Moved) or side is None:
            return super().entries(canvas)
        own = op_entries(self, side, ops_of(side.prediction, over), self.chosen)
        return [*own, *super().entries(canvas)]

    def formula(self, at: QPoint) -> Formula | None:
        fall, over = self.fall, self.waterfall.over
        if fall is None:
            return None
        step = int(over) - 1 if over is not None else -1
        return one_step(fall.steps[step]) if 0 <= step < len(fall.steps) else from_a_to_b(fall)

    def subtitle(self) -> str:
        if self.pair is None:
            return "one scenario"
        a, b = self.pair
        return f"{a.letter} {a.name} to {b.letter} {b.name}: {self.verdicts.ratio()[0]}"

    def subtitles(self) -> tuple[str, ...]:
        short = self.verdicts.ratio()[0] if self.pair else ""
        return self.subtitle(), short

    def rows(self) -> list[list[str]]:
        compared = self._compared
        return compared.rows() if compared else self.nothing.rows() if self.current else []

    def plain_rows(self) -> list[list[str]]:
        compared = self._compared
        return compared.plain_rows() if compared else self.rows()

    @property
    def _compared(self) -> Compared | None:
        """The shown comparison; None with fewer than two sides."""
        if self.pair is None:
            return None
        return Compared(*self.pair, self.fall, tuple(self.regimes.items), tuple(self.counts.items))

    def _pressed(self, moved: Moved | None) -> None:
        """Select the ops of a row's kernels in the current side."""
        if moved is None or self.current is None:
            return
        ops = ops_of(self.current.prediction, moved)
        if not ops:  # the current side has no such kernels
            return
        ops = frozenset[int]() if ops == self.chosen else ops
        self.pick(ops)
        self.picked.emit(ops)


def ops_of(p: Prediction, moved: Moved) -> frozenset[int]:
    """Return the ops whose kernels belong to a row."""
    row_key = moved.op, moved.family
    return frozenset(op for op, key in _keys(p) if key == row_key)


def kernels_of(p: Prediction, ops: frozenset[int]) -> frozenset[tuple[str, str]]:
    """Return the (op, family) of each row that contains kernels of these ops."""
    return frozenset(key for op, key in _keys(p) if op in ops)


def _keys(p: Prediction) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield each kernel's op, with the op's name and the kernel's family."""
    for op, work in zip(p.columns.op_of.tolist(), p.columns.work_of.tolist(), strict=True):
        yield op, (p.trace.ops[int(op)].name.partition(".")[2], p.works[int(work)].family)


def _key(pair: tuple[Side, Side]) -> str:
    """A key of two sides; a file that a scenario reads may change its prediction."""
    figures = [(side.prediction.period_s, side.prediction.peak_memory_bytes) for side in pair]
    return "\n".join([*(side.scenario.key for side in pair), repr(figures)])


def _fall(a: Side, b: Side, cancelled: Callable[[], bool]) -> Waterfall:
    def predict_unless_cancelled(scenario: Scenario) -> Prediction:
        if cancelled():
            raise CancelledError
        return predict(scenario)

    predictions = a.prediction, b.prediction
    fall = waterfall(a.scenario, b.scenario, predict_unless_cancelled, predictions)
    return relabelled(fall, a.scenario, b.scenario)
