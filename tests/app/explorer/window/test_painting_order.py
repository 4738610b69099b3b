"""The verdict of a new answer is on the screen before the charts are drawn."""

import pytest
from PySide6.QtCore import QCoreApplication, QElapsedTimer, QEvent, QObject

from app.explorer.window.window import Window
from app.views.roofline.canvas import RooflineCanvas
from tests.app.explorer.files.settling import until
from tests.app.explorer.waiting import wait


class Paints(QObject):
    """Records the batch of the verdict whenever it is painted at full opacity."""

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


def test_the_verdict_is_painted_before_the_scenario_cards(window: Window):
    window.session.show("Explore")
    wait(window.worker)
    order = list[str]()
    card = window.strip.cards[0]

    class Cards(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            shown = card.painted
            if event.type() == QEvent.Type.Paint and shown is not None and not shown.stale:
                order.append(f"card {shown.answer.subject.batch if shown.answer else 0}")
            return False

    paints, cards = Paints(window, order), Cards(window)
    card.installEventFilter(cards)
    window.inspector.batch.slider.setValue(81)
    until(lambda: "card 81" in order)
    window.verdict.removeEventFilter(paints)
    card.removeEventFilter(cards)
    assert "verdict 81" in order[: order.index("card 81")]


@pytest.mark.parametrize("size", [(1280, 800), (1600, 1000)])
def test_showing_a_page_draws_no_chart_twice(
    window: Window, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
):
    window.resize(*size)
    for page in ("Explore", "Lessons"):  # Lessons has neither verdict nor scenario cards
        window.session.show(page)
        wait(window.worker)
        until(lambda: not window.worker.busy())
    drawn: list[tuple[float, float]] = []
    draw = RooflineCanvas.drawing

    def noted(canvas: RooflineCanvas, width: float, height: float) -> object:
        drawn.append((width, height))
        return draw(canvas, width, height)

    monkeypatch.setattr(RooflineCanvas, "drawing", noted)
    window.session.show("Explore")
    chart = window.findChild(RooflineCanvas)
    assert chart is not None
    clock = QElapsedTimer()
    clock.start()
    while clock.elapsed() < 500:  # a second drawing would follow the first painting
        QCoreApplication.processEvents()
    size_now = float(chart.width()), float(chart.height())
    assert drawn in ([], [size_now])  # empty if the drawing has this size already
    window.resize(1280, 800)
