"""Links in the explorer: copied, opened, and refused in the banner."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.answers.plan.draft import first
from app.examples import FIRST
from app.explorer.files.link_dialog import LinkDialog
from app.explorer.files.opening import Opening
from app.explorer.state.session import NamedScenario, State
from simulator.hardware import gpu
from simulator.planning.spec_link import spec_link
from simulator.scenario.text.link import scenario_link

GPUS = Path(gpu.__file__).parent / "gpus"


def test_a_scenario_s_link_is_one_step(opening: Opening) -> None:
    other = replace(FIRST, batch=3)
    opening.open_text(scenario_link(other))
    session = opening.session
    assert session.state.scenario == other and session.history.undoText() == "open link"
    session.history.undo()
    assert session.state.scenario == FIRST


def test_a_plan_s_link_shows_the_plan(opening: Opening) -> None:
    opening.open_text(spec_link(first().text))
    state = opening.session.state
    assert state.plan == first().text and state.workspace == "Plan"
    assert state.scenario == FIRST


def test_a_bad_link_is_a_banner_and_nothing_else(opening: Opening) -> None:
    opening.open_text("ridgepoint://scenario/1/AAAA")
    assert opening.banner.label.text() == (
        "the link is damaged: its checksum differs: expected the complete link from Copy link; "
        "copy it again"
    )
    assert opening.session.state.scenario == FIRST and not opening.session.history.count()


def test_the_dialog_offers_the_link_of_the_clipboard(opening: Opening) -> None:
    address = scenario_link(replace(FIRST, batch=5))
    for copied, offered in (("no link", ""), (f" {address}\n", address)):
        QGuiApplication.clipboard().setText(copied)
        opening.choose_link()
        dialog = opening.window_.findChildren(LinkDialog)[-1]
        assert dialog.isVisible() and dialog.field.text() == offered
    QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    assert opening.session.state.scenario.batch == 5


def test_the_dialog_keeps_a_wrong_link(opening: Opening) -> None:
    QGuiApplication.clipboard().setText("ridgepoint://scenario/7/x")
    opening.choose_link()
    dialog = opening.window_.findChildren(LinkDialog)[-1]
    dialog.submit()
    assert dialog.isVisible() and dialog.refusal.text() == (
        "the link has version '7': expected 1; copy it again with this version of Ridgepoint"
    )
    assert opening.session.state.scenario == FIRST


def test_a_file_opens_by_its_path(opening: Opening, tmp_path: Path) -> None:
    opening.files.save(tmp_path / "talk.ridge")
    opening.session.reset(State((NamedScenario("Tomorrow", replace(FIRST, batch=2)),)))
    opening.files.save(tmp_path / "later.ridge")
    opening.open_text(str(tmp_path / "talk.ridge"))
    assert opening.session.state.scenario == FIRST


def test_a_scenario_opened_on_a_page_that_shows_none_is_shown(
    opening: Opening, tmp_path: Path
) -> None:
    """Regression: the plan and the lessons stayed in front, as if nothing had been opened."""
    session, gpu_file = opening.session, tmp_path / "own.toml"
    gpu_file.write_bytes(next(GPUS.glob("l4.toml")).read_bytes())
    for page, shown in (("Plan", "Explore"), ("Lessons", "Explore"), ("Map", "Map")):
        for address in (scenario_link(replace(FIRST, batch=3)), str(gpu_file)):
            session.show(page)
            opening.open_text(address)
            assert session.state.workspace == shown
            session.history.undo()
    session.show("Cluster")
    opening.open_text(scenario_link(replace(FIRST, batch=3)))
    assert session.state.workspace == "Cluster"  # it shows the network and its batch
    opening.open([gpu_file])
    assert session.state.workspace == "Explore"


def test_the_reason_of_a_wrong_link_has_its_room(opening: Opening) -> None:
    """Regression: the dialog kept its height, so the text was cut off above and below."""
    QGuiApplication.clipboard().setText("")
    opening.choose_link()
    dialog = opening.window_.findChildren(LinkDialog)[-1]
    for words in ("x", "ridgepoint://scenario/7/x", "ridgepoint://nonsense" * 9):
        dialog.field.setText(words)
        dialog.submit()
        QApplication.processEvents()
        label = dialog.refusal
        assert label.height() >= label.heightForWidth(label.width())
        assert dialog.field.height() >= dialog.field.minimumSizeHint().height()
    dialog.close()
