"""The Fusion workspace: layout of the blocks; fusing by key, click and drag."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from app.answers.side import Side
from app.quantities import data
from app.scenes.fusion import parts, scene, stays
from app.theme import DARK, Theme
from app.views.fusion.view import FusionView
from app.widgets.context_menu import fill_menu
from simulator.analysis.block_diagram import OUTSIDE, BlockDiagram
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply
from tests.app.views.conftest import picture, pointer, svg

ASKED = Scenario("bert-base", batch=64, seq=128, dtype="bf16", sizes={"layers": 2})


@pytest.fixture(scope="module")
def bert() -> Side:
    return Side("A", "Today", ASKED, predict(ASKED))


@pytest.fixture
def view(shown: Any, bert: Side) -> FusionView:
    return shown(FusionView, (bert,), size=(1240, 620))


def _op(view: FusionView, name: str, which: int = 0) -> int:
    ops = [op for op, block in view.canvas.scene.blocks.items() if block.name == name]
    return ops[which]


def _answered(view: FusionView, side: Side) -> None:
    question = view.question((side,), 0)
    assert question is not None
    view.answer(question(lambda: False))


def test_the_first_layer_is_shown_first(view: FusionView) -> None:
    assert view.part.currentText() == "layers.0"
    # attention and `up` launch two kernels each
    assert view.subtitle() == "layers.0: 12 ops, 14 kernels"
    assert [row[1] for row in view.rows()[1:4]] == ["query", "key", "value"]
    sums = [row[:2] for row in view.rows() if row[1] == "all"]  # the two bars below the blocks
    assert sums == [["DRAM traffic unfused", "all"], ["DRAM traffic fused", "all"]]
    assert "Kernels: 14 for 12 ops; some ops launch several" in view.panel.details.text()
    assert "Enter fuses" in view.panel.details.text()
    assert not view.panel.fuse_button.isVisible() and not view.panel.split_button.isVisible()


def test_a_block_is_right_of_the_blocks_that_it_reads(bert: Side) -> None:
    joining = BlockDiagram(ASKED)
    for name, ops in parts(joining).items():
        drawn = scene(joining, name, ops)
        for flow in drawn.flows:
            if OUTSIDE not in (flow.maker, flow.reader):
                assert drawn.place[flow.maker][0] < drawn.place[flow.reader][0]
        assert len(set(drawn.place.values())) == len(drawn.blocks)
        assert not any(stays(drawn, flow) for flow in drawn.flows)


def test_blocks_do_not_overlap_and_lie_inside(view: FusionView) -> None:
    boxes = [view.canvas.box(op) for op in view.canvas.scene.blocks]
    for place, one in enumerate(boxes):
        assert view.canvas.rect().toRectF().contains(one)
        assert not any(one.intersects(other) for other in boxes[place + 1 :])


def test_a_drag_tries_a_pair_and_enter_fuses_it(view: FusionView, bert: Side) -> None:
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    canvas = view.canvas
    begin, end = (canvas.box(_op(view, name)).center() for name in ("add", "layer norm"))
    pointer(canvas, QEvent.Type.MouseButtonPress, begin)
    for at in (begin + QPointF(20, 0), end):
        _drag(canvas, at)
    pointer(canvas, QEvent.Type.MouseButtonRelease, end)
    assert canvas.chosen == {_op(view, "add"), _op(view, "layer norm")}
    _answered(view, bert)
    assert view.panel.head.text() == "Fusing add and layer norm"
    assert "Step: " in view.panel.details.text() and "in 4 kernels" in view.panel.details.text()
    assert view.panel.fuse_button.isVisible()
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert emitted == [
        apply(ASKED, "fuse", {"ops": "add+native_layer_norm", "modules": "layers.#"})
    ]
    assert not canvas.chosen


def test_the_canvas_has_the_focus_after_the_button_disappears(view: FusionView, bert: Side) -> None:
    view.canvas.choose(frozenset({_op(view, "add"), _op(view, "layer norm")}))
    _answered(view, bert)
    view.panel.fuse_button.setFocus()
    assert view.window().focusWidget() is view.panel.fuse_button
    view.panel.fuse_button.click()
    assert not view.panel.fuse_button.isVisible()
    assert view.window().focusWidget() is view.canvas


def _drag(canvas: QWidget, at: QPointF) -> None:
    """Drag with the left button."""
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    kind = QEvent.Type.MouseMove
    QApplication.sendEvent(canvas, QMouseEvent(kind, at, canvas.mapToGlobal(at), left, left, none))


def test_a_selection_is_previewed_with_its_reasons_and_its_sum(
    view: FusionView, bert: Side
) -> None:
    add, norm = _op(view, "add"), _op(view, "layer norm")
    view.canvas.choose(frozenset({add, norm}))
    assert view.canvas.preview is view.canvas.scene
    _answered(view, bert)
    trial = view.trial
    assert trial is not None and not trial.refused
    # 64 · 128 · 768 · 2 B = 12 MiB are written once and read twice: by the norm and by a later add
    mib = 64 * 128 * 768 * 2
    flows = [f for f in view.canvas.scene.flows if f.maker == add]
    assert all(flow.bytes == mib for flow in flows)
    apart, together = view.canvas.preview.bars
    saved = sum(size for _, size, _ in apart) - sum(size for _, size, _ in together)
    assert saved == trial.bytes_saved // trial.count > 0
    assert any(name == "add, layer norm" for name, _, _ in together)
    lines = view.panel.reasons.text().splitlines()
    assert lines[0] == "Why these can be fused"
    assert lines[1] == "✓ layer norm reads the output of add: 12.0 MiB not read again"
    assert len(lines) == 3
    # the fused norm does not write mean and deviation: 64 · 128 · 2 · 4 B = 64 KiB a kernel
    assert trial.count == 4
    written = "4 × (2 × 12.0 MiB) + 256 KiB of other traffic = 96.2 MiB"
    assert written in view.panel.details.text()
    view.canvas.choose(frozenset())
    assert view.canvas.preview is view.canvas.scene and view.panel.reasons.isHidden()


def test_the_sum_of_the_saved_bytes_is_the_figure_above_it(view: FusionView, bert: Side) -> None:
    assert "through DRAM, with each op on its own" in view.panel.details.text()  # shown once
    for names in (("up", "gelu"), ("add", "layer norm")):
        view.canvas.choose(frozenset(_op(view, name) for name in names))
        _answered(view, bert)
        assert view.trial is not None
        written = view.panel.details.text().splitlines()[0]
        assert view.panel.figure.text() == f"−{written.rpartition(' = ')[2]}", written
    assert "× (" in written


def test_ops_that_cannot_be_fused_say_why(view: FusionView, bert: Side) -> None:
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    view.canvas.choose(frozenset({_op(view, "query"), _op(view, "key")}))
    _answered(view, bert)
    assert view.panel.head.text() == "Can't be fused"
    assert view.panel.details.text().startswith("Two library kernels, query and key: ")
    assert view.canvas.refused and not view.panel.fuse_button.isVisible()
    view.canvas.choose(frozenset({_op(view, "gelu"), _op(view, "down")}))
    _answered(view, bert)
    assert view.panel.details.text().startswith("Down reads the result of another chosen op: ")
    menu = QMenu()
    fill_menu(menu, view.entries(view.canvas))
    texts = [action.text() for action in menu.actions()]
    fuse = next(text for text in texts if text.startswith("Fuse the selected ops    Down reads"))
    assert fuse.endswith("\tEnter")  # the key comes last; it used to come before the reason
    QTest.keyClick(view.canvas, Qt.Key.Key_Return)
    assert not emitted


def test_keys_select_and_split(shown: Any) -> None:
    joined = apply(ASKED, "fuse", {"ops": "addmm+gelu", "modules": "layers.#"})
    side = Side("A", "Joined", joined, predict(joined))
    view = shown(FusionView, (side,), size=(1240, 620))
    assert view.panel.head.text() == "layers.0 moves"
    scene = view.canvas.scene
    saved = sum(each.bytes_saved for each in scene.sets)
    assert saved > 0 and view.panel.figure.text() == data(scene.bytes - saved)
    assert f", minus {data(saved)} saved by fusion" in view.panel.details.text()
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    up = list(view.canvas.scene.blocks).index(_op(view, "up"))
    for _ in range(up + 1):
        QTest.keyClick(view.canvas, Qt.Key.Key_Right)
    QTest.keyClick(view.canvas, Qt.Key.Key_Space)
    assert view.canvas.chosen == {_op(view, "up")}
    assert view.panel.head.text() == "Fused: up" and view.panel.split_button.isVisible()
    QTest.keyClick(view.canvas, Qt.Key.Key_Delete)
    assert emitted == [ASKED]
    kernels = [row for row in view.rows()[1:] if row[-1]]
    assert len(kernels) == 2 and {row[1] for row in kernels} == {"up", "gelu"}


def test_the_bars_shrink_by_the_saved_bytes(bert: Side) -> None:
    joining = BlockDiagram(apply(ASKED, "fuse", {"ops": "addmm+gelu", "modules": "layers.#"}))
    drawn = scene(joining, "layers.0", parts(joining)["layers.0"])
    apart, together = drawn.bars
    (joined,) = drawn.sets
    assert sum(size for _, size, _ in apart) == drawn.bytes
    assert sum(size for _, size, _ in together) == drawn.bytes - joined.bytes_saved
    assert "up, gelu" in [name for name, _, _ in together]


def test_both_themes_are_painted(view: FusionView, theme: Theme) -> None:
    view.restyle(theme)
    image = picture(view)
    colours = {image.pixelColor(x, y).name() for x in range(0, 1240, 3) for y in range(0, 620, 3)}
    assert theme.bg2.lower() in colours and len(colours) > 40
    view.restyle(DARK)


def test_bytes_are_labelled_where_they_leave_a_block(view: FusionView, tmp_path: Path) -> None:
    flows = {data(f.bytes) for f in view.canvas.scene.flows if f.bytes}
    text = svg(view.canvas, tmp_path / "f.svg")
    written = {words for words in flows if f">{words}<" in text}
    assert written and len(written) >= len(flows) / 2  # the others do not fit


def test_the_page_names_the_trace_that_it_waits_for(application: Any, bert: Side) -> None:
    view = FusionView(DARK)
    view.draw((bert,), 0)
    assert view.canvas.message == "Tracing the ops of bert-base …"
    waiting = picture(view.canvas)
    view.fail("gpt2 needs a GPU")
    assert view.canvas.message == "No diagram.\ngpt2 needs a GPU"
    assert picture(view.canvas) != waiting
    assert view.canvas.accessibleDescription() == view.canvas.message


def test_the_menu_of_parts_is_as_wide_before_and_after_a_change_of_theme(
    shown: Any, side: Side
) -> None:
    view = shown(FusionView, (side,))
    wide = view.part.sizeHint().width()
    text = view.part.fontMetrics().horizontalAdvance(view.part.currentText())
    assert wide >= text + 20  # the text and the arrow
    assert view.part.sizeAdjustPolicy() == view.part.SizeAdjustPolicy.AdjustToContents
