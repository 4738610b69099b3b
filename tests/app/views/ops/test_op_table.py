from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from app.answers.side import Side
from app.scenes.op_table import KEYS, By, groups
from app.theme import DARK, LIGHT, Theme
from app.views.ops.model import NAMES
from app.views.ops.view import OpTable
from simulator.prediction import Prediction
from tests.app.views.conftest import picture

_BYS: list[By] = ["op", "module", "shape", "launch"]


@pytest.mark.parametrize("by", _BYS)
def test_groups_add_up_to_the_prediction(tiny_prediction: Prediction, by: By) -> None:
    p, g = tiny_prediction, groups(tiny_prediction, by)
    assert g.calls.sum() == p.kernel_count
    assert g.total_s.sum() == pytest.approx(p.gpu_busy_s)
    assert g.share.sum() == pytest.approx(1)
    assert g.flops.sum() == p.flops
    assert g.bytes.sum() == sum(k.bytes for k in p.kernels)
    assert g.parts_s.sum(axis=1) == pytest.approx(g.total_s)
    assert g.ops_of(range(len(g))) == {k.op for k in p.kernels}


def test_a_group_is_the_sum_of_its_launches(tiny_prediction: Prediction) -> None:
    rows = groups(tiny_prediction, "op")
    column = rows.words["Op"]
    for row in range(len(rows)):
        name = column.distinct[int(column.each[row])]
        own = [k for k in tiny_prediction.kernels if k.name.removesuffix(".default") == name]
        assert rows.calls[row] == len(own)
        assert rows.total_s[row] == pytest.approx(sum(k.duration_s for k in own))
        assert rows.flops[row] == sum(k.flops for k in own)
        assert rows.ops_of([row]) == {k.op for k in own}
    assert len(groups(tiny_prediction, "launch")) == tiny_prediction.kernel_count


def _by_launch(view: Any) -> None:
    view.by.button(list(KEYS).index("launch")).click()


@pytest.mark.parametrize("column", [n for n in NAMES if n != "Source"])
def test_every_column_sorts_both_ways(shown: Any, side: Side, column: str) -> None:
    view = shown(OpTable, (side,))
    _by_launch(view)
    place = NAMES.index(column)
    orders = []
    for _ in range(2):
        view.sort(place)
        model = view.model
        assert model.column == place
        assert sorted(model.order.tolist()) == list(range(len(model.groups)))
        keys = [model.text(g, place).lower() for g in model.order.tolist()]
        if column in ("Op", "Module", "Shape", "Dtype"):
            assert keys == sorted(keys, reverse=model.falling)
        elif column != "Regime":
            values = model.values(place)[model.order]
            step = np.diff(values)
            assert (step <= 0).all() if model.falling else (step >= 0).all()
        orders.append(model.falling)
    assert orders[0] != orders[1]


def test_words_and_regime_filter(shown: Any, side: Side) -> None:
    view = shown(OpTable, (side,))
    everything = len(view.rows())
    view.search.setText("ADDMM")
    assert {row[0] for row in view.rows()[1:]} == {"addmm"}
    assert view.status.text().startswith("1 of ")
    view.search.setText("no such op")
    assert len(view.rows()) == 1 and view.status.text().endswith("0%")
    view.search.clear()
    view.regime.button(3).click()
    place = view.rows()[0].index("Regime")
    assert {row[place] for row in view.rows()[1:]} <= {"overhead"}
    view.regime.button(0).click()
    assert len(view.rows()) == everything


def test_selected_rows_are_picked_and_escape_lets_go(shown: Any, side: Side) -> None:
    view = shown(OpTable, (side,))
    emitted: list[frozenset[int]] = []
    view.picked.connect(emitted.append)
    view.table.selectRow(0)
    first = int(view.model.order[0])
    assert emitted == [view.model.groups.ops_of([first])]
    before = picture(view)
    view.pick(emitted[0])  # as the window selects ops in every view
    assert picture(view) == before and len(emitted) == 1
    QTest.keyClick(view.table, Qt.Key.Key_Escape)
    assert emitted[-1] == frozenset() and not view.marked.any()
    one = side.prediction.kernels[-1].op
    view.pick(frozenset([one]))
    marked = np.flatnonzero(view.marked).tolist()
    assert [g for g in range(len(view.model.groups)) if one in view.model.groups.ops_of([g])] == (
        marked
    )
    _by_launch(view)  # the selection is kept in another grouping
    assert view.model.groups.ops_of(np.flatnonzero(view.marked).tolist()) == {one}


def test_the_copy_is_a_table_of_plain_numbers(shown: Any, side: Side) -> None:
    view = shown(OpTable, (side,))
    QTest.keyClick(view.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = [line.split("\t") for line in QGuiApplication.clipboard().text().split("\n")]
    assert len(lines) == 1 + len(view.model.groups)
    assert {len(line) for line in lines} == {len(lines[0])}
    place = lines[0].index("Time (s)")
    spent = sum(float(line[place]) for line in lines[1:])
    assert spent == pytest.approx(side.prediction.gpu_busy_s, rel=1e-5)
    view.table.selectRow(0)
    QTest.keyClick(view.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().split("\n") == ["\t".join(x) for x in lines[:2]]


def test_s_sorts_by_the_column_of_the_cell(shown: Any, side: Side) -> None:
    view = shown(OpTable, (side,))
    view.table.setCurrentIndex(view.model.index(0, NAMES.index("Calls")))
    QTest.keyClick(view.table, Qt.Key.Key_S)
    assert NAMES[view.model.column] == "Calls" and view.model.falling
    QTest.keyClick(view.table, Qt.Key.Key_S)
    assert not view.model.falling


def test_drawn_in_the_theme(shown: Any, side: Side, theme: Theme) -> None:
    view = shown(OpTable, (side,), theme=theme)
    image = picture(view)
    for x, y in ((300, 420), (2, 420), (400, 32)):
        assert image.pixelColor(x, y).name().upper() == theme.bg1
    other = LIGHT if theme is DARK else DARK
    view.restyle(other)
    assert picture(view).pixelColor(300, 420).name().upper() == other.bg1
