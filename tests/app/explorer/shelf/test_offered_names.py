"""A field for the name of an op, a module or a GPU offers the existing names."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.answers.parameter_names import names_of
from app.explorer.inspector.applied import AppliedList
from app.explorer.shelf.parameter_dialog import ParameterDialog
from app.explorer.state.session import NamedScenario, Session, State
from app.theme import DARK
from app.widgets.drawing import application
from app.widgets.fields.name_box import NameBox
from simulator.scenario.registry import named
from simulator.scenario.scenario import Applied, Scenario, predict
from simulator.whatif import apply

GPT = Scenario("gpt2", batch=1, seq=64, sizes={"layers": 2})


@pytest.fixture(scope="module", autouse=True)
def _application() -> Iterator[None]:
    running = application()
    yield
    del running


def offered(whatif: str, parameter: str, scenario: Scenario = GPT) -> tuple[str, ...]:
    wanted = next(p for p in named(whatif).parameters if p.name == parameter)
    return names_of(whatif, wanted, scenario, predict(scenario))


def test_names_are_those_of_the_network_and_the_catalogue():
    modules = ("**", "tokens", "positions", "blocks", "blocks.#", "blocks.#.attention_norm")
    assert offered("precision", "modules")[:6] == modules
    assert "blocks.0" not in offered("precision", "modules")
    assert {"embedding", "addmm", "native_layer_norm", "gelu"} <= set(offered("fuse", "ops"))
    assert offered("fuse", "ops") == offered("remove", "op")
    assert {"gemm", "attention", "norm"} <= set(offered("utilisation", "family"))
    assert {"layers", "heads"} <= set(offered("size", "parameter"))
    assert {"h200_sxm", "l40s"} <= set(offered("gpu", "to"))
    assert {"gpt2", "bert-base"} <= set(offered("network", "to"))
    assert offered("weights", "dtype") == ()  # this is a choice, shown as a combo box


def dialog_of(name: str) -> ParameterDialog:
    applied: list[Scenario] = []
    dialog = ParameterDialog(DARK, name, GPT, applied.append, prediction=predict(GPT))
    dialog.show()
    dialog.activateWindow()
    QApplication.processEvents()
    return dialog


def test_typing_narrows_the_names_and_a_click_takes_one():
    dialog = dialog_of("utilisation")
    box = dialog.controls.boxes["family"]
    assert isinstance(box, NameBox)
    box.setFocus()
    QTest.keyClicks(box, "AtT")
    assert box.offered() == ["attention"]
    popup = box.completer().popup()
    assert popup.isVisible()
    QTest.keyClick(popup, Qt.Key.Key_Down)
    QTest.keyClick(popup, Qt.Key.Key_Return)
    assert box.text() == "attention" and dialog.controls.values["family"] == "attention"
    dialog.close()


def test_the_list_looks_like_the_field():
    dialog = dialog_of("gpu")
    dialog.setStyleSheet("QListView { color: #123456; }")
    box = dialog.controls.boxes["to"]
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Down)
    popup = box.completer().popup()
    assert popup is not None and popup.styleSheet() == dialog.styleSheet()
    assert popup.font().family() == box.font().family()
    popup.hide()
    dialog.close()


def test_down_shows_all_names_and_the_list_has_a_name():
    dialog = dialog_of("gpu")
    box = dialog.controls.boxes["to"]
    assert isinstance(box, NameBox)
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Down)
    popup = box.completer().popup()
    assert popup.isVisible() and len(box.offered()) > 60
    assert popup.accessibleName() == f"Names for {box.accessibleName()}"
    popup.hide()
    dialog.close()


def test_the_last_of_several_ops_is_completed():
    dialog = dialog_of("fuse")
    box = dialog.controls.boxes["ops"]
    assert isinstance(box, NameBox)
    box.setFocus()
    QTest.keyClicks(box, "addmm+gel")
    assert box.offered() == ["gelu"]
    popup = box.completer().popup()
    QTest.keyClick(popup, Qt.Key.Key_Down)
    QTest.keyClick(popup, Qt.Key.Key_Return)
    assert box.text() == "addmm+gelu"
    dialog.button.click()
    assert not dialog.isVisible()


def test_an_applied_what_if_offers_modules_too():
    scenario = apply(GPT, "precision", {"dtype": "fp16", "modules": "blocks.#"})
    session = Session(State((NamedScenario("Today", scenario),)))
    applied = AppliedList(session, DARK)
    applied.show_scenario(scenario)
    box = applied.rows[0].boxes["modules"]
    assert isinstance(box, NameBox) and scenario.whatifs[0].arguments["modules"] == box.text()
    assert Applied("precision", {"dtype": "fp16", "modules": "blocks.#"}) == scenario.whatifs[0]
    box.offer_all()
    assert box.offered() == []  # nothing is predicted yet
