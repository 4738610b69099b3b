"""The shelf: its cards, the effect of a drop, and refused drops."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.answers.cards import SECTIONS, Card, cards
from app.examples import FIRST
from app.explorer.shelf.parameter_dialog import ParameterDialog
from app.explorer.shelf.shelf import Shelf
from app.theme import DARK
from app.widgets.drawing import application
from app.widgets.drops import Offer, Target
from simulator.errors import InputError
from simulator.hardware.gpu import gpus
from simulator.hardware.host import hosts
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.apply import whatif
from simulator.scenario.registry import _WHATIFS
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply, whatifs


@pytest.fixture
def shelf() -> Shelf:
    application()
    return Shelf(DARK, lambda: ["A, Today", "B, Graph"])


def card(name: str) -> Card:
    return next(c for c in cards() if c.name == name)


def test_every_registry_lies_there_with_its_count(shelf: Shelf):
    counts = {SECTIONS[kind]: int(label.text()) for kind, label in shelf.counts.items()}
    assert counts == {
        "Networks": len(CATALOGUE),
        "GPUs": len(gpus()),
        "Hosts": len(hosts()),
        "What-ifs": len(whatifs()) - 3,
    }


def test_a_new_what_if_appears_by_itself():
    @whatif("launch")
    def of_this_test(setting: ResolvedScenario) -> ResolvedScenario:
        """Do nothing."""
        return setting

    try:
        new_card = card("of_this_test")
        assert (new_card.title, new_card.detail) == ("of this test", "launch")
    finally:
        del _WHATIFS["of_this_test"]


def test_a_search_prefers_names_to_helps(shelf: Shelf):
    """The help of `fusion` names CUDA graphs too."""
    shelf.search.setText("cuda")
    assert [w.card.name for w in shelf.widgets if not w.isHidden()] == ["cuda_graph"]
    shelf.search.setText("launches")  # in helps alone
    assert any(not widget.isHidden() for widget in shelf.widgets)


def test_a_search_shows_and_counts_its_matches(shelf: Shelf):
    shelf.search.setText("h200 sxm")
    shown = [w.card.name for w in shelf.widgets if not w.isHidden()]
    assert shown == ["h200_sxm"]
    assert shelf.counts["network"].text() == f"0 of {len(CATALOGUE)}"
    shelf.search.setText("")
    assert sum(not w.isHidden() for w in shelf.widgets if w.card.kind == "gpu") == 3
    shelf.more["gpu"].click()
    assert sum(not w.isHidden() for w in shelf.widgets if w.card.kind == "gpu") == len(gpus())


def test_cards_in_use_are_outlined_and_shown(shelf: Shelf):
    shelf.show_scenario(apply(FIRST, "no_python"))
    used = {w.card.name for w in shelf.widgets if w.used}
    assert {"bert-base", "no_python", "xeon-h200"} <= used and len(used) == 4
    assert not any(w.isHidden() for w in shelf.widgets if w.used)


def test_a_card_gives_the_scenario_that_a_control_gives():
    assert card("cuda_graph").apply(FIRST) == apply(FIRST, "cuda_graph")
    assert card("l40s").apply(FIRST) == replace(FIRST, gpu="l40s")
    changed = card("gpt2").apply(apply(FIRST, "no_python"))
    assert (changed.network, changed.batch, changed.seq) == ("gpt2", None, None)
    assert [w.name for w in changed.whatifs] == ["no_python"]
    assert card("batch").apply(FIRST).whatifs[0].arguments == {"samples": 128}  # 2 · 64


def test_cards_of_sizes_double_the_size_and_others_ask():
    for name, after in (("batch", {"samples": 128}), ("seq", {"tokens": 256})):
        assert card(name).open_parameters(FIRST) == ()
        assert card(name).apply(FIRST).whatifs[0].arguments == after
        assert card(name).detail == f"shape, 2× {next(iter(after))}"
    defaults = Scenario("bert-base")  # batch 16
    assert card("batch").apply(defaults).whatifs[0].arguments == {"samples": 32}
    assert card("queue_depth").open_parameters(FIRST) == ("launches",)
    assert card("seq").open_parameters(Scenario("resnet50")) == ("tokens",)


def test_a_card_that_cannot_be_applied_says_why():
    with pytest.raises(InputError):
        card("fp8").apply(Scenario("bert-base", gpu="a100_sxm_80", dtype="bf16"))


def test_a_card_without_a_default_asks_and_reports_errors(shelf: Shelf):
    assert card("size").missing_parameters(FIRST) == ("parameter", "value") and not card(
        "bandwidth"
    ).missing_parameters(FIRST)
    applied: list[Scenario] = []
    dialog = ParameterDialog(DARK, "size", FIRST, applied.append)
    dialog.show()
    dialog.button.click()
    assert not applied and "needs parameter: expected +size=PARAMETER" in dialog.refusal.text()
    for name, text in (("parameter", "layers"), ("value", "6")):
        dialog.controls.boxes[name].setText(text)
        dialog.controls.boxes[name].editingFinished.emit()
    dialog.button.click()
    assert applied == [apply(FIRST, "size", {"parameter": "layers", "value": 6})]


def test_a_choice_counts_before_it_is_changed():
    """Regression: the dialog showed memory_bytes, and Apply reported "figure needs of"."""
    application()
    applied: list[Scenario] = []
    dialog = ParameterDialog(DARK, "figure", FIRST, applied.append)
    dialog.controls.boxes["value"].setText("8e10")
    dialog.controls.boxes["value"].editingFinished.emit()
    dialog.button.click()
    assert applied == [apply(FIRST, "figure", {"of": "memory_bytes", "value": 8e10})]


def test_the_fields_of_a_dialog_keep_their_size_with_an_error():
    application()
    dialog = ParameterDialog(DARK, "size", FIRST, lambda _: None)
    dialog.show()
    dialog.controls.boxes["parameter"].setText("colour")
    dialog.controls.boxes["parameter"].editingFinished.emit()
    dialog.button.click()
    QApplication.processEvents()
    label, boxes = dialog.refusal, dialog.controls.boxes.values()
    assert "has no size" in label.text() or "needs value" in label.text()
    assert label.height() >= label.heightForWidth(label.width())
    assert all(box.height() >= box.minimumSizeHint().height() for box in boxes)
    dialog.close()


def drag(target: QWidget, data: QMimeData) -> tuple[QDragEnterEvent, QDropEvent]:
    none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    copy = Qt.DropAction.CopyAction
    entered = QDragEnterEvent(QPoint(5, 5), copy, data, *none)
    QApplication.sendEvent(target, entered)
    dropped = QDropEvent(QPointF(5, 5), copy, data, *none)
    if entered.isAccepted():
        QApplication.sendEvent(target, dropped)
    return entered, dropped


@pytest.fixture
def place():
    application()
    widget = QWidget()
    widget.resize(400, 200)
    widget.show()
    yield widget
    widget.close()


def test_a_drop_is_offered_then_done(place: QWidget, shelf: Shelf):
    done: list[str] = []
    Target(place, DARK, lambda key: Offer(f"apply {key}", lambda: done.append(key)))
    graph_card = shelf.widget("whatif:cuda_graph")
    data = graph_card.mime()
    entered, dropped = drag(place, data)
    assert entered.isAccepted() and dropped.dropAction() == Qt.DropAction.CopyAction
    assert done == ["whatif:cuda_graph"]


def test_a_refused_drop_says_why_and_moves_nothing(place: QWidget, shelf: Shelf):
    target = Target(place, DARK, lambda key: Offer("the A100 has no fp8", None))
    graph_card = shelf.widget("whatif:fp8")
    none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    data = graph_card.mime()
    entered = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data, *none)
    QApplication.sendEvent(place, entered)
    assert target.outline.isVisible() and target.outline.refused
    assert target.outline.words == "the A100 has no fp8"
    _, dropped = drag(place, data)
    assert dropped.dropAction() == Qt.DropAction.IgnoreAction
    assert not target.outline.isVisible()


def test_files_are_taken_and_other_things_are_not(place: QWidget, tmp_path: Path):
    applied: list[Path] = []
    Target(place, DARK, lambda key: Offer("", None), applied.extend)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "one.ridge"))])
    assert drag(place, data)[0].isAccepted() and applied == [tmp_path / "one.ridge"]
    words = QMimeData()
    words.setText("hello")
    drag(place, words)
    assert len(applied) == 1


def test_a_dragged_card_is_a_picture_of_it(shelf: Shelf):
    shelf.resize(216, 600)
    picture = shelf.widgets[0].pixmap()
    assert picture.width() > 100 and not picture.toImage().allGray()
