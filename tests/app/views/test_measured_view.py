"""A measured step compared with its prediction, as a picture and a table."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest

from app.answers.side import Side
from app.explorer.docks.table_dialog import TableDialog, write_csv
from app.theme import Theme
from app.views.measured import MeasuredView, names
from simulator.errors import InputError
from tests.app.views.conftest import picture, pointer

TRACES = Path(__file__).parents[2] / "simulator" / "profiler_traces"


@pytest.fixture
def measured(side: Side) -> Side:
    return replace(side, measured=str(TRACES / "mlp-tiny.json.gz"))


def test_the_empty_view_names_the_file_to_open(shown: Any, side: Side) -> None:
    view = shown(MeasuredView, (side,))
    assert "Open a PyTorch profiler trace" in view.canvas.empty
    assert view.rows() == [] and view.subtitle() == ""
    assert view.question((side,), 0) is None


def test_marks_are_at_both_times(shown: Any, measured: Side, theme: Theme) -> None:
    view = shown(MeasuredView, (measured,), theme=theme)
    assert view.subtitle().endswith("predicted, 110 µs measured in 44 kernels")
    assert {row[0] for row in view.rows()[1:]} == {"addmm", "relu"}
    x, y = view.canvas.scales
    for group in view.canvas.groups:
        at = view.canvas.place(group)
        assert x.value(at.x()) == pytest.approx(group.predicted_s)
        assert y.value(at.y()) == pytest.approx(group.measured_s)
    total = sum(group.measured_s for group in view.canvas.groups)
    assert total == pytest.approx(110.28e-6, rel=1e-3)
    assert picture(view).width() > 0


def test_the_title_says_if_the_trace_measures_another_step(shown: Any, measured: Side) -> None:
    before = replace(measured.scenario, batch=7)
    view = shown(MeasuredView, (replace(measured, measured_as=before),))
    assert view.subtitle().startswith("measured at batch 7: GPU busy ")
    other = replace(measured.scenario, gpu="l40s")
    view = shown(MeasuredView, (replace(measured, measured_as=other),))
    assert view.subtitle().startswith("measured for another scenario: GPU busy ")


def test_marks_of_one_op_are_distinguished_by_their_shapes(shown: Any, measured: Side) -> None:
    groups = shown(MeasuredView, (measured,)).canvas.groups
    labels = names(groups)
    assert {g.op for g in groups} == {"addmm", "relu"} and len(set(labels)) == len(labels)
    assert all(g.shape in name for g, name in zip(groups, labels, strict=True) if g.op == "addmm")
    assert names(groups[:1]) == [groups[0].op]


def test_a_click_and_keys_pick_ops(shown: Any, measured: Side) -> None:
    view = shown(MeasuredView, (measured,))
    picked: list[frozenset[int]] = []
    view.picked.connect(picked.append)
    first = view.canvas.groups[0]
    pointer(view.canvas, QEvent.Type.MouseButtonPress, view.canvas.place(first))
    QTest.keyClick(view.canvas, Qt.Key.Key_Right)
    QTest.keyClick(view.canvas, Qt.Key.Key_Return)
    assert picked == [first.ops, first.ops]
    card = view.canvas.card()
    assert card is not None and dict(card.rows)["Calls"] == str(first.count)


def test_every_picture_has_its_table(shown: Any, measured: Side, tmp_path: Path) -> None:
    view = shown(MeasuredView, (measured,))
    dialog = TableDialog(view)
    dialog.show()
    lines = dialog.selected_text().split("\n")
    assert [line.split("\t") for line in lines] == view.rows()[1:]
    cells = [dialog.table.item(0, at) for at in range(dialog.table.columnCount())]
    across = [cell.textAlignment() & 0xF for cell in cells if cell is not None]
    sides = dict(zip(view.rows()[0], across, strict=True))
    assert sides["Op"] == Qt.AlignmentFlag.AlignLeft.value
    assert sides["Calls"] == sides["Predicted"] == Qt.AlignmentFlag.AlignRight.value
    dialog.table.selectRow(1)
    assert dialog.selected_text() == lines[1]
    dialog.close()
    write_csv(view, tmp_path / "m.csv")
    written = (tmp_path / "m.csv").read_text("utf-8").splitlines()
    assert written[0] == "Op,Shape,Calls,Predicted,Measured,Predicted over measured"
    assert len(written) == len(view.rows())


def test_a_table_of_nothing_is_refused(shown: Any, side: Side, tmp_path: Path) -> None:
    view = shown(MeasuredView, (side,))
    with pytest.raises(InputError, match="Measured shows no data yet; try again once it does"):
        write_csv(view, tmp_path / "m.csv")
