from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest

from app.answers.figures import causes
from app.answers.side import Side
from app.scenes.module_tree import module_tree
from app.theme import Theme
from app.views.modules.view import WhereTimeGoes
from simulator.prediction import Prediction
from tests.app.views.conftest import picture, pointer, svg


@pytest.mark.parametrize("alike", [True, False])
def test_every_part_is_the_sum_of_its_children(tiny_prediction: Prediction, alike: bool) -> None:
    p, step = tiny_prediction, module_tree(tiny_prediction, alike)
    assert step.total_s == pytest.approx(p.period_s)
    assert step.launches == p.kernel_count
    assert step.ops == {k.op for k in p.kernels}
    waits = {part.name: part.total_s for part in step.children if part.wait}
    assert waits == {name: value for name, value in causes(p) if value > 0} != {}
    for part in step.all():
        if part.children:
            assert sum(child.total_s for child in part.children) == pytest.approx(part.total_s)
            assert sum(child.launches for child in part.children) == part.launches
        if not part.wait and part is not step:
            assert sum(part.parts_s) == pytest.approx(part.total_s)


def test_a_module_is_the_sum_of_its_kernels(tiny_prediction: Prediction) -> None:
    for part in module_tree(tiny_prediction, alike=False).all():
        if part.modules:
            (name,) = part.modules
            own = [
                k
                for k in tiny_prediction.kernels
                if k.module == name or k.module.startswith(name + ".")
            ]
            if own:
                assert part.total_s == pytest.approx(sum(k.duration_s for k in own))
                assert part.ops == {k.op for k in own}


def test_widths_are_shares_of_the_parent(shown: Any, side: Side) -> None:
    view = shown(WhereTimeGoes, (side,))
    boxes = dict(view.canvas.boxes())
    root = view.canvas.root
    for part, box in boxes.items():
        share = part.total_s / root.total_s
        assert box.width() == pytest.approx(boxes[root].width() * share)
        if part.parent:
            above = boxes[part.parent]
            assert box.top() == pytest.approx(above.bottom())
            assert above.left() - 1e-6 <= box.left() <= box.right() <= above.right() + 1e-6


def test_a_click_zooms_and_picks_and_keys_go_up(shown: Any, side: Side) -> None:
    view = shown(WhereTimeGoes, (side,))
    canvas = view.canvas
    messages: list[frozenset[int]] = []
    view.picked.connect(messages.append)
    module, box = next((q, b) for q, b in canvas.boxes() if q.depth == 1 and not q.wait)
    pointer(canvas, QEvent.Type.MouseButtonPress, box.center())
    assert messages == [frozenset(module.ops)] and canvas.shown is module
    wide = dict(canvas.boxes())
    assert wide[module].width() == pytest.approx(wide[canvas.root].width())
    for key in (Qt.Key.Key_Backspace, Qt.Key.Key_Escape):
        QTest.keyClick(canvas, key)
        assert messages[-1] == frozenset() and canvas.shown is canvas.root
    wait, box = next((q, b) for q, b in canvas.boxes() if q.wait)
    pointer(canvas, QEvent.Type.MouseButtonPress, box.center())
    assert canvas.shown is canvas.root and messages[-1] == frozenset()
    pointer(canvas, QEvent.Type.MouseMove, box.center())
    assert canvas.card().head == wait.name


def test_arrows_walk_the_tree(shown: Any, side: Side) -> None:
    view = shown(WhereTimeGoes, (side,))
    canvas = view.canvas
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    first = canvas.over
    assert first is canvas.root.children[0]
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.over is canvas.root.children[1]
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    assert canvas.over is first
    QTest.keyClick(canvas, Qt.Key.Key_Up)
    assert canvas.over is canvas.root
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert canvas.shown is first


def test_the_zoom_stays_when_the_sides_change(shown: Any, side: Side, variant: Side) -> None:
    view = shown(WhereTimeGoes, (side,))
    part = next(q for q in view.canvas.root.children if not q.wait)
    view.canvas.pressed_on.emit(part)
    view.draw((side, variant), 1)
    assert view.canvas.shown.path == part.path and view.canvas.shown is not part


def test_table_and_svg_say_the_same(shown: Any, side: Side, theme: Theme, tmp_path: Path) -> None:
    view = shown(WhereTimeGoes, (side,), theme=theme)
    rows = view.rows()
    assert {len(row) for row in rows} == {8}
    assert [row[0] for row in rows[1:]] == [q.path or "step" for q in view.canvas.root.all()]
    text = svg(view, tmp_path / "w.svg")
    ElementTree.fromstring(text)
    assert "waiting for the host" in text
    before = picture(view)
    view.pick(frozenset([side.prediction.kernels[0].op]))
    assert picture(view) != before
