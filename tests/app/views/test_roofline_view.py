from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtTest import QTest

from app.answers.side import Side
from app.explorer.docks.panel import _image
from app.scenes.launches import launch_groups
from app.scenes.roofline import Ceiling, overhead_parts, roof
from app.theme import DARK, LIGHT
from app.views.roofline.view import Roofline
from simulator.hardware.gpu import gpu
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict
from tests.app.views.conftest import picture, pointer, svg


def test_ceilings_are_those_of_the_hardware_file(tiny_prediction: Prediction) -> None:
    card = gpu("h200")
    drawn = roof(tiny_prediction, launch_groups(tiny_prediction))
    lines = {c.name: c.flops_per_s for c in drawn.engines}
    assert lines["bf16, fp16 tensor"] == pytest.approx(989.4e12, rel=1e-9)
    assert lines["tf32 tensor"] == pytest.approx(494.7e12, rel=1e-9)
    assert lines["fp32 vector"] == pytest.approx(66.9e12, rel=1e-9)
    each = [*card.tensor_flops_per_s.values(), *card.vector_flops_per_s.values()]
    assert {round(v, 1) for v in each} == {round(v, 1) for v in lines.values()}
    dram, l2 = drawn.memories
    assert dram.bytes_per_s == pytest.approx(4800e9, rel=1e-9)
    assert l2.bytes_per_s == pytest.approx(9800e9, rel=1e-9)
    assert dram.measured_bytes_per_s == pytest.approx(0.91 * 4800e9)  # the profile's dram_reach
    assert drawn.label(dram) == "HBM 4.80 TB/s, measured 4.37"
    # the tiny network computes in fp32: 66.9 TFLOP/s over 4.8 TB/s
    assert drawn.ridge == pytest.approx(66.9 / 4.8, rel=1e-9)


def test_the_shortest_name_of_a_ceiling_keeps_its_power_of_ten() -> None:
    # one GPU may have 2.52 PFLOP/s and 157 TFLOP/s, which "2.52" and "157" would confuse
    names = [
        Ceiling("bf16 tensor", rate, None, True).labels[2] for rate in (2.52e15, 157e12, 989e12)
    ]
    assert names == ["bf16 tensor 2.52 P", "bf16 tensor 157 T", "bf16 tensor 989 T"]


def test_identical_launches_add_up(tiny_prediction: Prediction) -> None:
    launches = launch_groups(tiny_prediction)
    assert sum(a.count for a in launches) == tiny_prediction.kernel_count
    assert sum(a.total_s for a in launches) == pytest.approx(tiny_prediction.gpu_busy_s)
    assert sum(a.share for a in launches) == pytest.approx(1)
    assert sum(a.flops * a.count for a in launches) == tiny_prediction.flops
    assert launches == sorted(launches, key=lambda a: -a.total_s)


def test_overhead_equals_that_of_the_prediction(tiny_prediction: Prediction) -> None:
    p = tiny_prediction
    parts = dict(overhead_parts(p))
    assert parts["host wait"] == p.idle.host_s and parts["sync"] == p.idle.sync_s
    assert parts["fixed parts"] == pytest.approx(p.columns.fixed_s.sum())
    moving = (p.columns.duration_s - p.columns.fixed_s).sum()
    assert sum(parts.values()) + moving == pytest.approx(p.period_s)


def test_areas_are_shares_and_points_are_at_their_values(shown: Any, side: Side) -> None:
    view = shown(Roofline, (side,))
    canvas = view.canvas
    frame = canvas.frame
    assert frame.radius(0.4) ** 2 == pytest.approx(2 * frame.radius(0.2) ** 2)
    first, (x, y), _ = next(m for m in canvas.marks() if m[0].flops)
    assert frame.x.value(x) == pytest.approx(first.flops / first.bytes)
    assert frame.y.value(y) == pytest.approx(first.flops * first.count / first.total_s)


def test_a_click_isolates_and_a_second_one_frees(shown: Any, side: Side) -> None:
    view = shown(Roofline, (side,))
    emitted: list[frozenset[int]] = []
    view.picked.connect(emitted.append)
    mark, place, _ = view.canvas.marks()[-1]
    at = QPointF(*place)
    for _ in range(2):
        pointer(view.canvas, QEvent.Type.MouseButtonPress, at)
        pointer(view.canvas, QEvent.Type.MouseButtonRelease, at)
    assert emitted == [view.canvas.hit(at).ops, frozenset()]
    pointer(view.canvas, QEvent.Type.MouseMove, at)
    card = view.canvas.card()
    assert card and card.note.endswith("-bound") and dict(card.rows)["Op"]
    assert mark.shape


def test_the_zoom_follows_a_change_of_gpu_and_fit_is_there_meanwhile(
    shown: Any, side: Side
) -> None:
    view = shown(Roofline, (side,))
    canvas, whole = view.canvas, view.canvas.ends
    assert view.fit.isHidden()
    QTest.keyClick(canvas, Qt.Key.Key_W)
    zoomed = canvas.ends
    assert zoomed != whole and not view.fit.isHidden()
    view.draw((side,), 0)
    assert canvas.ends == zoomed  # the scale stays, because the launches belong to the same card
    other = predict(Scenario("mlp-tiny", gpu="v100_sxm2_16"))
    view.draw((replace(side, prediction=other),), 0)
    fitted = canvas.ends
    assert view.fit.isHidden() and not canvas.zoomed
    QTest.keyClick(canvas, Qt.Key.Key_W)
    view.fit.click()
    assert canvas.ends == fitted and view.fit.isHidden()


def test_a_ring_is_drawn_for_the_keys_and_not_for_the_mouse(shown: Any, side: Side) -> None:
    canvas = shown(Roofline, (side,)).canvas
    canvas.setFocus(Qt.FocusReason.TabFocusReason)
    assert canvas.hasFocus() and canvas.by_key
    ringed = picture(canvas).pixelColor(1, canvas.height() // 2)
    corner = canvas.rect().bottomLeft()
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=corner)
    assert canvas.hasFocus() and not canvas.by_key
    assert picture(canvas).pixelColor(1, canvas.height() // 2) != ringed
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.by_key


def test_keys_walk_pick_zoom_and_fit(shown: Any, side: Side) -> None:
    view = shown(Roofline, (side,))
    emitted: list[frozenset[int]] = []
    view.picked.connect(emitted.append)
    before = view.canvas.ends
    QTest.keyClick(view.canvas, Qt.Key.Key_Right)
    QTest.keyClick(view.canvas, Qt.Key.Key_Return)
    assert emitted == [view.groups[0].ops]
    QTest.keyClick(view.canvas, Qt.Key.Key_Escape)
    assert emitted[-1] == frozenset() and view.canvas.over is None
    QTest.keyClick(view.canvas, Qt.Key.Key_Plus)
    assert view.canvas.ends != before and view.canvas.zoomed
    QTest.keyClick(view.canvas, Qt.Key.Key_F)
    assert view.canvas.ends == before


def test_the_heaviest_only(shown: Any, side: Side) -> None:
    view = shown(Roofline, (side,))
    view.heaviest.setValue(2)
    assert len(view.canvas.marks()) == 2
    share = sum(a.share for a in view.groups[:2])
    assert view.status.text() == f"heaviest 2 of {len(view.groups)}: {100 * share:.0f}%"
    view.draw((side,), 0)
    assert view.heaviest.value() == 2  # the chosen number stays


def test_a_variant_leaves_trails(shown: Any, side: Side, variant: Side) -> None:
    view = shown(Roofline, (side, variant), 1)
    assert {a.key for a in view.canvas.scene.before} & {a.key for a in view.groups}
    alone = shown(Roofline, (variant,))
    assert picture(view) != picture(alone)


def test_the_table_and_the_svg_say_the_same(shown: Any, side: Side, tmp_path: Path) -> None:
    view = shown(Roofline, (side,))
    rows = view.rows()
    assert {len(row) for row in rows} == {len(rows[0])}
    assert [row[0] for row in rows[1 : len(view.groups) + 1]] == [a.label for a in view.groups]
    text = svg(view, tmp_path / "r.svg")
    ElementTree.fromstring(text)
    assert "HBM 4.80 TB/s" in text and "Overhead" in text


def test_another_theme_applies_at_once(shown: Any, side: Side) -> None:
    view = shown(Roofline, (side,), theme=DARK)
    dark = picture(view)
    view.restyle(LIGHT)
    assert picture(view).pixelColor(300, 5).name().upper() == LIGHT.bg1 != dark.pixelColor(300, 5)
    assert view.canvas.hit(QPointF(1, 1)) is None


def test_only_the_left_button_moves_the_axes(shown: Any, side: Side) -> None:
    """Regression: after a right click the axes followed the pointer, because the menu receives the
    release."""
    view = shown(Roofline, (side,))
    canvas = view.canvas
    start, end = QPointF(canvas.width() / 2, 30.0), QPointF(canvas.width() / 2 + 40, 60.0)
    assert canvas.hit(start) is None
    for button, moves in ((Qt.MouseButton.RightButton, False), (Qt.MouseButton.LeftButton, True)):
        pointer(canvas, QEvent.Type.MouseButtonPress, start, button)
        pointer(canvas, QEvent.Type.MouseMove, end, button)
        assert canvas.zoomed is moves


def test_a_picture_of_a_chart_omits_the_card_under_the_pointer(shown: Any, side: Side) -> None:
    view = shown(Roofline, (side,))
    before = _image(view)
    view.canvas.over = view.groups[0]
    assert picture(view) != before and _image(view) == before
    assert view.canvas.over == view.groups[0]
