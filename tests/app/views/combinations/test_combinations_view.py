"""Combinations as lines: their figures are predictions, brushes filter them, and the fastest one is
selected.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtTest import QTest

from app.answers.side import Side
from app.scenes.combinations.axes import MOST_POINTS, axes_of, usual, values
from app.scenes.combinations.table import FIGURES, combined
from app.scenes.sweep.curves import CancelledError
from app.theme import SUPPORT_PX, Theme
from app.views.combinations.axis import places
from app.views.combinations.lines import segments
from app.views.combinations.spacing import OUTSIDE
from app.views.combinations.view import Combinations
from app.widgets.paint import width
from simulator.prediction import REGIMES
from simulator.scenario.scenario import Scenario, predict
from tests.app.views.conftest import picture, pointer, svg


@pytest.fixture
def view(shown: Any, side: Side) -> Combinations:
    return shown(Combinations, (side,), size=(1000, 500))


def column(view: Combinations, name: str) -> int:
    assert view.canvas.table is not None
    return [c.name for c in view.canvas.table.columns].index(name)


def names(view: Combinations) -> list[str]:
    assert view.canvas.table is not None
    return [c.name for c in view.canvas.table.columns]


def test_the_usual_axes_need_no_other_trace(side: Side) -> None:
    axes = axes_of(side, usual(side))
    assert list(axes) == ["batch", "gpu", "mode", "host_speed"]
    assert axes["batch"] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert "h200_sxm" in axes["gpu"] and len(axes["gpu"]) == 6
    compiled = Side(
        "A",
        "B",
        Scenario("mlp-tiny", mode="compiled"),
        predict(Scenario("mlp-tiny", mode="compiled")),
    )
    assert "mode" not in usual(compiled) and "mode" not in values(compiled)


def test_every_axis_can_be_chosen_with_a_bounded_number_of_points(side: Side) -> None:
    every = values(side)
    assert {"precision", "bandwidth", "host_speed", "batch"} < set(every)
    assert every["precision"][:3] == ["fp32", "bf16", "fp16"]
    assert every["bandwidth"] == [0.5, 1.0, 2.0, 4.0]
    wide = axes_of(side, list(every))
    count = 1
    for each in wide.values():
        count *= len(each)
    assert count <= MOST_POINTS and list(wide) == list(every)
    assert side.prediction.gpu.id in wide["gpu"]


def test_every_line_is_a_prediction(view: Combinations, side: Side) -> None:
    table = view.canvas.table
    assert table is not None and len(table) == 9 * 6 * 2 * 4 and table.refused == 0
    chance = np.random.default_rng(3)
    for row in chance.choice(len(table), 4, replace=False).tolist():
        p = predict(table.scenario(side.scenario, row))
        time = table.columns[column(view, "Time")].values[row]
        assert time == pytest.approx(p.period_s, rel=1e-9)
        assert table.regime(row) == p.regime
        named = [c.value_text(float(c.values[row])) for c in table.columns[:4]]
        mode = {"eager": "eager", "cuda_graph": "CUDA graph"}[p.mode]
        assert any(p.gpu.name.startswith(n) for n in named) and mode in named
    assert names(view)[3:] == ["Host speed", "Time", "Throughput", "Memory needed"]
    assert table.columns[3].words == ("0.5×", "1×", "2×", "4×")
    assert view.legend.words() == [
        f"{int((table.regimes == at).sum()):,} {r}" for at, r in enumerate(REGIMES)
    ]


def test_the_menu_chooses_axes_and_figures(view: Combinations, side: Side) -> None:
    question_changed: list[bool] = []
    view.question_changed.connect(lambda: question_changed.append(True))
    view.axes.figures["Compute share"].trigger()
    assert names(view)[-1] == "Compute share" and not question_changed  # the answer is cached
    assert view.canvas.table is not None
    share = view.canvas.table.columns[-1]
    assert share.share and share.values.min() >= 0 and share.values.max() <= 1
    view.canvas.brush(column(view, "GPU"), -0.4, 0.4)
    view.axes.axes["gpu"].trigger()
    view.axes.axes["bandwidth"].trigger()
    assert len(question_changed) == 2
    assert view.status.text() == f"Predicting {9 * 2 * 4 * 4} …" and view.canvas.stale
    question = view.question((side,), 0)
    assert question is not None
    view.answer(question(lambda: False))
    assert names(view)[:4] == ["Batch", "Mode", "Host speed", "Bandwidth"]
    assert (
        view.status.text() == f"{9 * 2 * 4 * 4} of {9 * 2 * 4 * 4} match"
        and not view.canvas.brushes
    )
    for action in (*view.axes.axes.values(), *view.axes.figures.values()):
        if action.isChecked():
            action.trigger()
    left = [a for a in (*view.axes.axes.values(), *view.axes.figures.values()) if a.isChecked()]
    assert len(left) == 2  # a picture needs two columns
    assert list(view.axes.figures) == list(FIGURES)


def test_axes_that_another_network_lacks_give_way_to_the_usual(
    view: Combinations, side: Side
) -> None:
    view.names = ["seq"]  # selected for a network with sequences
    assert view.chosen() == usual(side)
    view.names = ["seq", "bandwidth"]
    assert view.chosen() == ["bandwidth"]
    question = view.question((side,), 0)
    assert question is not None
    view.answer(question(lambda: False))
    assert names(view) == ["Bandwidth", "Time", "Throughput", "Memory needed"]
    view.names = None
    view.axes.figures["Step alone"].trigger()
    assert view.names is None  # if the figures change, no axes are selected


def test_a_drag_ends_where_its_axis_is_no_more(view: Combinations, side: Side) -> None:
    canvas, table = view.canvas, view.table
    assert table is not None
    last = len(names(view)) - 1
    pointer(canvas, QEvent.Type.MouseButtonPress, QPointF(canvas.across(last), 200))
    canvas.show_table(table.arranged(names(view)[:2]), canvas.fastest_first)
    pointer(canvas, QEvent.Type.MouseMove, QPointF(canvas.across(1), 120))
    assert not canvas.brushes


def test_an_axis_is_moved_by_its_title_and_keeps_its_brush(view: Combinations) -> None:
    canvas, before = view.canvas, names(view)
    canvas.brush(0, 0.6, 1.4)
    pointer(canvas, QEvent.Type.MouseButtonPress, QPointF(canvas.across(0), 12))
    pointer(canvas, QEvent.Type.MouseMove, QPointF(canvas.across(2) + 5, 12))
    pointer(canvas, QEvent.Type.MouseButtonRelease, QPointF(canvas.across(2) + 5, 12))
    assert names(view) == [before[1], before[2], before[0], *before[3:]]
    assert canvas.brushes == {2: (0.6, 1.4)} and canvas.axis == 2
    QTest.keyClick(canvas, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(canvas, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert names(view) == before and canvas.brushes == {0: (0.6, 1.4)}


def test_a_line_has_a_card_and_requests_its_scenario(view: Combinations) -> None:
    canvas, table = view.canvas, view.canvas.table
    assert table is not None and view.side is not None
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    for at, value in ((0, 3), (1, 2), (2, 1), (3, 0)):
        canvas.brush(at, value - 0.4, value + 0.4)
    (row,) = np.flatnonzero(canvas.matching).tolist()
    ys = [canvas.scale(c).at(float(c.values[row])) for c in table.columns[:2]]
    middle = QPointF((canvas.across(0) + canvas.across(1)) / 2, sum(ys) / 2)
    pointer(canvas, QEvent.Type.MouseMove, middle)
    assert canvas.over == row
    card = canvas.card()
    assert card is not None and dict(card.rows)["Batch"] == "8" and card.regime is not None
    pointer(canvas, QEvent.Type.MouseButtonPress, middle)
    assert emitted[0].batch == 8 and emitted[0].mode == "cuda_graph"
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert canvas.over is None
    for _ in range(2):
        QTest.keyClick(canvas, Qt.Key.Key_Period)
    rate = table.columns[column(view, "Throughput")].values
    assert canvas.over == int(np.argsort(-rate, kind="stable")[1])  # the second-fastest scenario
    QTest.keyClick(canvas, Qt.Key.Key_Comma)
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert emitted[1] == table.scenario(view.side.scenario, int(np.argmax(rate)))


def test_a_brush_filters_the_lines(view: Combinations) -> None:
    table, gpu, time = view.canvas.table, column(view, "GPU"), column(view, "Time")
    assert table is not None
    view.canvas.brush(gpu, -0.4, 1.4)
    assert int(view.canvas.matching.sum()) == 2 * 9 * 2 * 4
    assert view.status.text() == "144 of 432 match"
    middle = float(np.median(table.columns[time].values))
    view.canvas.brush(time, 0.0, middle)
    expected = (table.columns[gpu].values <= 1) & (table.columns[time].values <= middle)
    assert np.array_equal(view.canvas.matching, expected)
    assert len(view.rows()) == 1 + int(expected.sum())
    rate = table.columns[column(view, "Throughput")].values
    best = view.fastest()
    assert best is not None and expected[best] and rate[best] == rate[expected].max()
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    view.best.click()
    assert emitted[0].gpu == table.settings[best][1] and emitted[0].batch == table.settings[best][0]
    view.canvas.brush(time, 1e9, 2e9)
    assert view.fastest() is None and not view.best.isEnabled()
    QTest.keyClick(view.canvas, Qt.Key.Key_Escape)
    assert view.status.text() == "432 of 432 match" and view.best.isEnabled()


def test_the_pointer_brushes_along_an_axis(view: Combinations) -> None:
    canvas, at = view.canvas, column(view, "Batch")
    assert canvas.table is not None
    scale, x = canvas.scale(canvas.table.columns[at]), canvas.across(at)
    pointer(canvas, QEvent.Type.MouseButtonPress, QPointF(x, scale.at(-0.3)))
    pointer(canvas, QEvent.Type.MouseMove, QPointF(x + 4, scale.at(2.5)))
    pointer(canvas, QEvent.Type.MouseButtonRelease, QPointF(x + 4, scale.at(2.5)))
    assert canvas.brushes[at] == pytest.approx((-0.3, 2.5), abs=0.02)
    assert view.status.text() == "144 of 432 match"  # batches 1, 2 and 4: 3 · 6 · 2 · 4
    pointer(canvas, QEvent.Type.MouseButtonPress, QPointF(x, scale.at(1.0)))
    pointer(canvas, QEvent.Type.MouseButtonRelease, QPointF(x, scale.at(1.0)))
    assert not canvas.brushes


def test_keys_do_the_same(view: Combinations) -> None:
    canvas = view.canvas
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.axis == 1
    QTest.keyClick(canvas, Qt.Key.Key_Up)
    assert view.status.text() == "72 of 432 match"  # one GPU of six
    first = canvas.brushes[1]
    QTest.keyClick(canvas, Qt.Key.Key_Up)
    assert canvas.brushes[1] == (first[0] + 1, first[1] + 1)
    QTest.keyClick(canvas, Qt.Key.Key_Delete)
    assert not canvas.brushes
    for _ in range(9):
        QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.table is not None and canvas.axis == len(canvas.table.columns) - 1
    QTest.keyClick(canvas, Qt.Key.Key_Up)
    assert 0 < int(canvas.matching.sum()) < 432
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert len(emitted) == 1


def test_a_cancelled_question_ends(side: Side) -> None:
    with pytest.raises(CancelledError):
        combined(side, ["batch"], lambda: True)


def test_it_is_drawn_and_written(shown: Any, side: Side, theme: Theme, tmp_path: Path) -> None:
    view = shown(Combinations, (side,), theme=theme)
    before = picture(view)
    view.canvas.brush(0, 0.6, 1.4)
    assert picture(view) != before
    text = svg(view, tmp_path / "c.svg")
    ElementTree.fromstring(text)
    assert "Throughput" in text


def test_lines_that_run_together_are_drawn_once() -> None:
    heights = np.array([[1.2, -2.0, 5.0], [0.9, -2.2, 7.0], [3.0, 4.0, 5.0]])
    drawn = [(s.x1(), s.y1(), s.x2(), s.y2()) for s in segments([0.0, 10.0, 30.0], heights)]
    assert drawn == [
        (0, 1, 10, -2),
        (0, 3, 10, 4),
        (10, -2, 30, 5),
        (10, -2, 30, 7),
        (10, 4, 30, 5),
    ]
    many = np.stack(
        [np.tile(np.linspace(0, 9, 10), 200), np.zeros(2000)], axis=1
    )  # the rows 0 to 9, within three pixels
    assert [s.y1() for s in segments([0.0, 1.0], many)] == [0, 3, 6, 9]


def test_numbers_are_whole_and_titles_apart_in_a_narrow_panel(shown: Any, side: Side) -> None:
    canvas = shown(Combinations, (side,), size=(540, 400)).canvas
    table, spaces = canvas.table, canvas.spacing
    assert spaces.xs[0] == OUTSIDE and spaces.xs[-1] == canvas.width() - OUTSIDE
    for at, each in enumerate(table.columns):
        if not each.words:
            texts = [each.value_text(v) for v in places(each, canvas.scale(each))]
            assert max(width(text) for text in texts) <= spaces.value_room[at] - 14, each.name
    titles = [
        (c.name, x, low) for c, x, low in zip(table.columns, spaces.xs, spaces.low, strict=True)
    ]
    for line in (False, True):
        same = [(name, x) for name, x, low in titles if low == line]
        for (left, x), (right, other) in pairwise(same):
            half = (width(left, SUPPORT_PX, 600) + width(right, SUPPORT_PX, 600)) / 2
            assert other - x > half, (left, right)


def test_gaps_are_as_even_as_the_texts_allow(shown: Any, side: Side) -> None:
    spaces = shown(Combinations, (side,), size=(1000, 500)).canvas.spacing
    gaps = [right - left for left, right in pairwise(spaces.xs)]
    # GPU names need more than the others, which share the rest evenly
    assert len({round(gap, 6) for gap in gaps}) <= 2
