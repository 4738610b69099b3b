"""A figure that changes often causes no new layout of the window."""

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.explorer.docks.panel import Panel
from app.theme import DARK
from app.widgets.drawing import application
from app.widgets.elided_label import Elided, Steady
from app.widgets.strip import Legend


class Layouts(QObject):
    """Counts the layout requests of a widget."""

    def __init__(self, watched: QWidget) -> None:
        super().__init__()
        self.count = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.LayoutRequest
        return False


def _shown(label: QWidget) -> QWidget:
    window = QWidget()
    QVBoxLayout(window).addWidget(label)
    window.resize(300, 60)
    window.show()
    return window


def test_a_new_figure_of_the_same_length_requests_no_layout():
    running = application()
    label = Steady("Simulated in 9.1 ms")
    window = _shown(label)
    running.processEvents()
    layouts = Layouts(window)
    for figure in range(2, 9):
        label.setText(f"Simulated in 9.{figure} ms")
        running.processEvents()
    assert layouts.count == 0
    assert label.text() == label.accessibleName() == "Simulated in 9.8 ms"
    before = label.width()
    label.setText("Simulated in 9.8 ms, with 12,345 kernels on two GPUs")
    running.processEvents()
    assert layouts.count == 1
    assert label.sizeHint().width() > before or label.width() > before
    del window


def test_an_elided_text_requests_no_layout():
    running = application()
    label = Elided()
    label.say("GPU idle 1.2 ms")
    window = _shown(label)
    running.processEvents()
    layouts = Layouts(window)
    label.say("GPU idle 12.3 ms, 11 of them waiting for the host")
    running.processEvents()
    assert layouts.count == 0
    assert label.toolTip() == "GPU idle 12.3 ms, 11 of them waiting for the host"
    del window


def test_new_shares_of_the_same_length_request_no_layout():
    running = application()
    legend = Legend(DARK)
    legend.show_shares({"compute": 0.41, "memory": 0.39, "overhead": 0.2})
    window = _shown(legend)
    running.processEvents()
    layouts = Layouts(window)
    for share in (0.42, 0.43, 0.44):
        legend.show_shares({"compute": share, "memory": 0.8 - share, "overhead": 0.2})
        running.processEvents()
    assert layouts.count == 0
    legend.show_shares({"compute": 1.0, "memory": 0.0, "overhead": 0.0})
    running.processEvents()
    assert layouts.count == 1
    del window


def test_dimming_a_panel_requests_no_layout_but_repaints_it():
    running = application()
    panel = Panel("Roofline", QLabel("123"), DARK)
    window = _shown(panel)
    running.processEvents()
    layouts, inner = Layouts(window), Layouts(panel)
    lit = panel.grab().toImage()
    panel.dim(True)
    running.processEvents()
    dimmed = panel.grab().toImage()
    panel.dim(False)
    running.processEvents()
    assert (layouts.count, inner.count) == (0, 0)
    assert panel.grab().toImage() == lit != dimmed
    del window


def test_it_is_as_high_as_a_plain_label():
    running = application()
    plain = QLabel("GPU")
    assert Steady("GPU").sizeHint().height() == plain.sizeHint().height()
    del running


def test_a_legend_does_not_call_a_small_share_none():
    running = application()
    legend = Legend(DARK)
    legend.show_shares({"compute": 0.997, "memory": 0.003, "overhead": 0.0})
    assert legend.words() == ["100% compute", "<1% memory", "0% overhead"]
    del running
