"""The queue of the chosen candidate, drawn as a factory over its histograms."""

from __future__ import annotations

from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStackedLayout, QWidget

from app.answers.plan.planned import Candidate, Planned, candidate_of
from app.answers.plan.words import batch_queue_words, empty_words, queue_words
from app.answers.side import Question, Side
from app.charts.plan.queue import queue_drawing
from app.drawing.picture import Drawing
from app.scenes.plan.queue import QueueScene, queue_scene
from app.scenes.plan.table import short_name
from app.theme import Theme
from app.views.plan.plan_view import PlanView
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.drawn import QT_METRICS
from simulator.errors import InputError
from simulator.planning.server.queue_detail import queue_of
from simulator.planning.spec import Spec


class QueueCanvas(DrawingCanvas):
    """The picture of a queue."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "The queue")
        self.scene: QueueScene | None = None

    def put(self, scene: QueueScene | None) -> None:
        """Show a queue."""
        self.scene = scene
        self.redraw()

    def drawing(self, width: float, height: float) -> Drawing | None:
        return queue_drawing(self.scene, width, height, QT_METRICS) if self.scene else None


class TheQueue(PlanView):
    """One replica of the chosen candidate at work on its share of the load."""

    title: ClassVar[str] = "The queue"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.canvas = QueueCanvas(theme)
        self.words = QLabel()
        self.words.setProperty("tone", "quiet")
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.words.setWordWrap(True)
        self.stack = QStackedLayout(self)
        self.stack.addWidget(self.words)
        self.stack.addWidget(self.canvas)
        self._request: tuple[Spec, Candidate] | None = None
        self._shown: tuple[Spec, Candidate] | None = None
        self.setFocusProxy(self.canvas)

    def update_plan(self, planned: Planned) -> None:
        row, spec = planned.row, planned.spec
        request = None
        if spec is None or row is None:
            self._say(empty_words(planned))
        elif spec.workload.kind != "serving":
            self._say(batch_queue_words(spec, row))
        elif row.first_token_s is None:
            self._say(f"{row.configuration} is not simulated: {row.reason}")
        else:
            request = spec, candidate_of(row)
        if request is not None and not planned.complete:
            if request != self._shown:
                self._request = None
                self._say(queue_words(planned))
            return
        if request != self._request:
            self._request = request
            self.question_changed.emit()

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        planned, request = self.planned, self._request
        if planned is None or request is None or request == self._shown:
            return None
        spec, row = planned.spec, planned.row
        if spec is None or row is None:
            return None

        def simulate(cancelled: Any) -> tuple[Any, QueueScene | str]:
            try:
                return request, queue_scene(spec, queue_of(spec, row))
            except InputError as error:
                return request, str(error)

        return simulate

    def answer(self, result: Any) -> None:
        request, scene = result
        if request != self._request:
            return
        if isinstance(scene, str):
            self._say(scene)
            return
        self._shown = request
        self.canvas.put(scene)
        self.stack.setCurrentWidget(self.canvas)

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.canvas.restyle(theme)

    def subtitle(self) -> str:
        row = self.planned.row if self.planned else None
        if row is None or self.stack.currentWidget() is self.words:
            return ""
        return f"{' '.join(short_name(row))} as a factory: filled is busy, outlined is idle"

    def rows(self) -> list[list[str]]:
        scene = self.canvas.scene
        if scene is None or self.stack.currentWidget() is self.words:
            words = self.words.text()
            return [["The queue"], [words]] if words else []
        rows = [["Histogram", "From, ms", "To, ms", "Share"]]
        for each in (scene.token, scene.first):
            for low, high, share in zip(each.edges_s, each.edges_s[1:], each.shares, strict=False):
                ends = [f"{1e3 * float(low):.4g}", f"{1e3 * float(high):.4g}"]
                rows.append([each.title, *ends, f"{share:.4f}"])
        return rows

    def _say(self, words: str) -> None:
        self._shown = None
        self.words.setText(words)
        self.stack.setCurrentWidget(self.words)
