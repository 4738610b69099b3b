"""A new answer is on the screen as its verdict before the charts are drawn."""

import pytest
from PySide6.QtCore import QEvent, QObject

from app.explorer.window.window import Window
from app.views.roofline.canvas import RooflineCanvas
from tests.app.explorer.files.settling import until
from tests.app.explorer.waiting import wait


class Paints(QObject):
    """Notes the batch of the verdict whenever it is painted at full strength."""

    def __init__(self, window: Window, order: list[str]) -> None:
        super().__init__(window)
        self.verdict, self.order = window.verdict, order
        self.verdict.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        answer = self.verdict.answer
        if event.type() == QEvent.Type.Paint and answer is not None and not self.verdict.stale:
            self.order.append(f"verdict {answer.subject.batch}")
        return False


def test_the_verdict_is_painted_before_the_charts_are_drawn(
    window: Window, monkeypatch: pytest.MonkeyPatch
):
    window.session.show("Explore")
    wait(window.worker)
    order = list[str]()
    draw = RooflineCanvas.set

    def noted(canvas: RooflineCanvas, *arguments: object) -> None:
        order.append("roofline")
        draw(canvas, *arguments)  # pyright: ignore[reportArgumentType]

    paints = Paints(window, order)
    monkeypatch.setattr(RooflineCanvas, "set", noted)
    window.inspector.batch.slider.setValue(80)
    until(lambda: "roofline" in order)
    window.verdict.removeEventFilter(paints)
    assert "verdict 80" in order[: order.index("roofline")]
