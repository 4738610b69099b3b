"""The form of a GPU: its entries, its errors, and its effect on the scenario."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QPushButton

from app.examples import FIRST
from app.explorer.background.worker import Worker
from app.explorer.gpu_editor.editor import Editor, initial_table
from app.explorer.gpu_editor.sheet import Entry, Sheet, check_words, label, names
from app.explorer.state.session import NamedScenario, Session, State
from app.explorer.window.window import Window
from app.theme import DARK
from app.widgets.drawing import application
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.hardware.gpu_keys import table
from simulator.scenario import trace_source
from simulator.scenario.resolve import gpu_of
from simulator.scenario.scenario import predict
from tests.app.explorer.waiting import wait


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "gpus"
    folder.mkdir()
    monkeypatch.setenv("RIDGEPOINT_GPUS", str(folder))
    return folder


def sheet(name: str = "h200") -> Sheet:
    return Sheet(initial_table(gpu(name)))


def test_unchanged_figures_keep_their_sources() -> None:
    card = gpu("h200")
    edited = gpu_of(sheet().table())
    assert edited.name == "My H200 SXM 141GB" and edited.aliases == ()
    assert edited.sources == card.sources and edited.unsourced == card.unsourced
    assert edited.tensor_flops_per_s == card.tensor_flops_per_s
    assert Sheet(table(card)).table() == table(card)


def test_a_figure_that_is_changed_is_assumed_until_somebody_says() -> None:
    form_sheet = sheet()
    source = gpu("h200").sources["bandwidth_gbytes_per_s"]
    assert form_sheet.entries["bandwidth_gbytes_per_s"] == Entry("4,800", "data sheet", source)
    form_sheet.type("bandwidth_gbytes_per_s", "6,000")
    assert form_sheet.entries["bandwidth_gbytes_per_s"] == Entry("6,000", "assumed", "")
    assert gpu_of(form_sheet.table()).bandwidth_bytes_per_s == 6000e9
    assert "bandwidth_gbytes_per_s" in form_sheet.table()["unsourced"]
    # the original figure has its original source again
    form_sheet.type("bandwidth_gbytes_per_s", "4,800")
    assert form_sheet.entries["bandwidth_gbytes_per_s"].source == source
    form_sheet.set_source("bandwidth_gbytes_per_s", "measured", "a copy of 8 GiB")
    form_sheet.type("bandwidth_gbytes_per_s", "4,310")
    assert form_sheet.table()["sources"]["measured: a copy of 8 GiB"] == ["bandwidth_gbytes_per_s"]
    again = Sheet(form_sheet.table()).entries["bandwidth_gbytes_per_s"]
    assert again == Entry("4,310", "measured", "a copy of 8 GiB")


@pytest.mark.parametrize(("name", "text", "words"), [
    ("units", "many", "Units (SM, CU) is 'many': expected a whole number from 1 to 100,000"),
    ("units", "1.5", "Units (SM, CU) is '1.5': expected a whole number from 1 to 100,000"),
    ("memory_gib", "", "Memory is missing: expected a number from 0.1 to 1,000,000 GiB"),
    ("boost_mhz", "2", "Boost clock is '2': expected a number from 10 to 100,000 MHz"),
    ("l2_mib", "1e400", "L2 is '1e400': expected a number from 0.001 to 10,000,000 MiB"),
    ("tensor_tflops.bf16", "-1", "Tensor peak at bf16 is '-1': expected a number from 0.001 to "
     "10,000,000 TFLOP/s"),
    ("name", " ", "Name is missing: expected a name"),
])  # fmt: skip
def test_wrong_entries_have_errors(name: str, text: str, words: str) -> None:
    form_sheet = sheet()
    form_sheet.type(name, text)
    assert form_sheet.complaints() == [words]
    with pytest.raises(InputError) as caught:
        form_sheet.table()
    assert str(caught.value) == words


def test_a_data_sheet_must_be_named() -> None:
    form_sheet = sheet()
    form_sheet.set_source("tdp_w", "data sheet", " ")
    assert form_sheet.wrong("tdp_w") == "TDP: expected the name or link of its data sheet"


def test_a_peak_is_compared_with_that_of_its_parts() -> None:
    form_sheet = sheet()
    peak = form_sheet.peak("tensor", "bf16")
    assert peak is not None and peak.agrees
    assert check_words(peak) == "132 × 1,830 MHz × 4,096 = 989.4 TFLOP/s"
    fp8 = form_sheet.peak("tensor", "fp8")  # 132 · 8192 · 1.83e9 = 1978.86e12
    assert fp8 is not None and check_words(fp8).endswith("= 1,979 TFLOP/s")
    assert form_sheet.entries["tensor_tflops.fp8"].text == "1,978.9"
    # 132 · 4096 · 1700e6 = 919e12, 7.6% below the stated peak
    form_sheet.type("tensor_mhz", "1700")
    peak = form_sheet.peak("tensor", "bf16")
    assert peak is not None and not peak.agrees and peak.off == pytest.approx(0.0764, abs=1e-4)
    fp64 = form_sheet.peak("tensor", "fp64")
    # the editor derives it from the boost clock
    assert fp64 is not None and fp64.agrees
    form_sheet.type("units", "")
    assert form_sheet.peak("tensor", "bf16") is None


def test_every_entry_has_its_own_name() -> None:
    # the kind of the interconnect and its GB/s share a label
    assert len({label(name) for name in names()}) == len(names()) - 1


@pytest.fixture
def editor() -> Iterator[tuple[Editor, list[Any]]]:
    application()
    messages: list[Any] = []
    widget = Editor(DARK, gpu("h200"), lambda *used: messages.append(used), messages.append)
    widget.show()
    yield widget, messages
    widget.close()


def typed(editor: Editor, name: str, text: str) -> None:
    box = editor.form.fields[name].box
    box.setFocus()
    box.selectAll()
    QTest.keyClicks(box, text)


def test_the_check_is_live_and_the_form_says_it(editor: tuple[Editor, list[Any]]) -> None:
    form, message = editor[0].form, editor[0].message
    assert message.text() == "Peaks that equal units × clock × FLOPs within 2%: 9"
    typed(editor[0], "tensor_tflops.fp8", "3958")
    assert form.checks["tensor", "fp8"].text() == "✗ stated peak is 100% above the product"
    assert message.text().startswith("1 of 9 peaks do not equal units × clock × FLOPs")
    assert editor[0].save_button.isEnabled()
    typed(editor[0], "units", "x")
    assert (
        message.text().startswith("Units (SM, CU) is 'x'") and not editor[0].use_button.isEnabled()
    )
    assert form.fields["units"].box.property("look") == "wrong"


@pytest.mark.parametrize("wide", [940, 1240])
def test_every_check_is_within_the_width_of_the_form(
    editor: tuple[Editor, list[Any]], wide: int
) -> None:
    editor[0].resize(wide, 676)
    QApplication.processEvents()
    form = editor[0].form
    area = form.area.viewport()
    for widget in (*form.checks.values(), *form.fields.values()):
        left = widget.mapTo(area, QPoint()).x()
        assert left >= 0 and left + widget.width() <= area.width()
    assert not form.area.horizontalScrollBar().isVisible()


def test_the_source_line_is_about_the_figure_that_has_the_focus(
    editor: tuple[Editor, list[Any]],
) -> None:
    form = editor[0].form
    typed(editor[0], "bandwidth_gbytes_per_s", "4500")
    form.fields["bandwidth_gbytes_per_s"].entered.emit()
    assert form.source_of.text() == "Bandwidth: assumed, no source"
    assert not form.source.isEnabled()
    form.fields["bandwidth_gbytes_per_s"].kind_chosen.emit("measured")
    QTest.keyClicks(form.source, "my copy")
    assert form.sheet.entries["bandwidth_gbytes_per_s"] == Entry("4500", "measured", "my copy")


def test_everything_in_the_form_has_a_name(editor: tuple[Editor, list[Any]]) -> None:
    kinds = (QLineEdit, QComboBox, QPushButton)
    controls = [w for kind in kinds for w in editor[0].findChildren(kind)]
    controls = [w for w in controls if not isinstance(w.parent(), QComboBox)]
    assert len(controls) > 60 and not [w for w in controls if not w.accessibleName()]


def test_a_saved_gpu_is_a_file_of_the_users_own(
    editor: tuple[Editor, list[Any]], folder: Path
) -> None:
    typed(editor[0], "name", "H200")
    editor[0].save()
    assert editor[0].message.text().startswith("the name 'h200' is taken by h200_sxm.toml")
    typed(editor[0], "name", "Faster H200")
    typed(editor[0], "bandwidth_gbytes_per_s", "6000")
    editor[0].save()
    assert editor[1] == [folder / "faster_h200.toml", ("faster_h200", "Faster H200")]
    card = gpu("faster h200")
    assert card.bandwidth_bytes_per_s == 6000e9 and card.units == 132
    assert "bandwidth_gbytes_per_s" in card.unsourced
    assert card.sources["units"] == gpu("h200").sources["units"]


@pytest.fixture
def window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Window]:
    monkeypatch.setenv("RIDGEPOINT_TRACES", str(tmp_path))
    monkeypatch.setenv("RIDGEPOINT_STATE", str(tmp_path / "state"))
    application()
    window = Window(Session(State((NamedScenario("Today", FIRST),))), Worker())
    window.show()
    window.beside[1].hide()
    wait(window.worker)
    yield window
    window.close()
    window.worker.close()
    trace_source.trace_elsewhere(False)
    trace_source.forget()


def opened(window: Window) -> Editor:
    window.gpu_editing.open()
    assert window.gpu_editing.editor is not None
    return window.gpu_editing.editor


def period_s(window: Window) -> float:
    wait(window.worker)
    assert window.answering.answer is not None
    return window.answering.answer.prediction.period_s


def test_the_scenario_uses_the_entries_and_undo_restores_the_gpu(
    window: Window, folder: Path
) -> None:
    before = period_s(window)
    editor = opened(window)
    typed(editor, "tensor_tflops.bf16", "500")
    editor.use()
    used = window.session.state.scenario
    assert isinstance(used.gpu, dict) and used.gpu["tensor_tflops"]["bf16"] == 500
    assert period_s(window) == predict(used).period_s > before
    assert window.inspector.gpu.currentText() == "My H200 SXM 141GB"
    window.session.history.undo()
    assert window.session.state.scenario == FIRST and period_s(window) == before
    window.inspector.gpu.activated.emit(window.inspector.gpu.findData("inline"))
    assert window.session.state.scenario.gpu == used.gpu  # it is still in the list
    assert window.gpu_editing.editor is None  # closing deleted it
    editor = opened(window)
    editor.save()
    assert window.session.state.scenario == replace(FIRST, gpu="my_h200_sxm_141gb")
    assert window.shelf.card("gpu:my_h200_sxm_141gb") is not None
    slow = period_s(window)
    assert window.gpu_editing.editor is None  # closing deleted it
    editor = opened(window)  # the user's own file is overwritten, and predicted again
    typed(editor, "tensor_tflops.bf16", "250")
    editor.save()
    assert [path.name for path in folder.iterdir()] == ["my_h200_sxm_141gb.toml"]
    assert period_s(window) > slow
