"""Files that the user opens: identified, applied to the session, or refused."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMenu, QToolButton

from app.examples import FIRST
from app.explorer.files.opening import Opening
from app.explorer.state import places
from app.explorer.state.incoming import identify
from app.explorer.state.session import NamedScenario, State
from app.explorer.state.session_file import save
from app.lessons import FOLDER
from app.lessons.pack import pack_text
from simulator.errors import InputError
from simulator.formats import trace_file
from simulator.hardware import gpu
from simulator.scenario.scenario import Scenario, predict
from simulator.scenario.scenario import save as save_scenario
from tests.app.explorer.files.settling import run_it, settle

TRACES = Path(__file__).parents[3] / "simulator" / "profiler_traces"
PACKAGED = Path(gpu.__file__).parent / "gpus"


def test_each_kind_of_file_is_identified(tmp_path: Path):
    save_scenario(FIRST, tmp_path / "s.toml")
    (tmp_path / "g.toml").write_text("name = 1", "utf-8")
    (tmp_path / "p.toml").write_text('[workload]\nkind = "training"', "utf-8")
    for name in ("a.ridge", "t.rpt.json", "n.py", "x.docx"):
        (tmp_path / name).write_text("{", "utf-8")
    shown = {
        name: identify(tmp_path / name).kind
        for name in ("s.toml", "g.toml", "p.toml", "a.ridge", "t.rpt.json", "n.py")
    }
    assert shown == {
        "s.toml": "scenario",
        "g.toml": "gpu",
        "p.toml": "plan",
        "a.ridge": "session",
        "t.rpt.json": "trace",
        "n.py": "network",
    }
    with pytest.raises(InputError, match=r"Ridgepoint can't open x.docx: expected"):
        identify(tmp_path / "x.docx")
    with pytest.raises(InputError, match=r"gone.ridge: the file does not exist"):
        identify(tmp_path / "gone.ridge")


def test_a_profilers_trace_is_laid_over_and_can_be_taken_away(opening: Opening, tmp_path: Path):
    trace, packed = tmp_path / "step.json", tmp_path / "step.json.gz"
    packed.write_bytes((TRACES / "mlp-tiny.json.gz").read_bytes())
    trace.write_text('{"schemaVersion": 1, "traceEvents": []}', "utf-8")
    assert [identify(path).kind for path in (trace, packed)] == ["profile", "profile"]
    session = opening.session
    session.show("Plan")
    opening.open([packed])
    settle(opening)
    assert session.state.sides[0].measured == str(packed)
    assert session.state.workspace == "Explore"  # which draws the overlay
    assert opening.banner.label.text() == (
        "Overlaid step.json.gz; the Measured view compares the two"
    )
    assert session.state.scenario == FIRST
    opening.open([trace])  # a trace without kernels is reported, and the previous trace stays
    settle(opening)
    assert f"{trace} has no GPU kernels among 0 events" in opening.banner.label.text()
    assert session.state.sides[0].measured == str(packed) and session.history.count() == 2
    session.history.undo()
    assert session.state.sides[0].measured == ""


def test_a_trace_of_another_step_is_refused_and_may_be_laid_over_all_the_same(
    opening: Opening, tmp_path: Path
):
    session, answering = opening.session, opening.networks.answering
    scenario = Scenario("bert-base", batch=8, seq=128, dtype="bf16")
    session.reset(State((NamedScenario("Today", scenario),)))
    answering.request()
    settle(opening)
    opening.open([TRACES / "bert-base.json.gz"])
    settle(opening)
    assert session.state.sides[0].measured == str(TRACES / "bert-base.json.gz")
    assert "of the measured time is in ops of this step" in opening.banner.label.text()
    assert "check that batch" not in opening.banner.label.text()
    # the network has only products, which BERT also has
    opening.open([TRACES / "mlp-tiny.json.gz"])
    settle(opening)
    assert session.state.sides[0].measured == str(TRACES / "bert-base.json.gz")
    banner = opening.banner.label.text()
    assert banner.startswith("mlp-tiny.json.gz seems to measure another step: it contains ")
    assert banner.endswith(
        "of the ops of this inference step in mode eager, and 93% of its kernel time is in these "
        "ops; expected at least half of each; choose the network, step and mode of the "
        "measurement, and open the trace again"
    )
    run_it(opening)
    assert session.state.sides[0].measured == str(TRACES / "mlp-tiny.json.gz")


@pytest.mark.parametrize("beside", [False, True])
def test_the_step_that_a_trace_measures_is_offered(opening: Opening, beside: bool):
    """The trace measures inference: the other phase of the training step, or the second
    scenario."""
    session, answering = opening.session, opening.networks.answering
    training = Scenario("mlp-tiny", training=True)
    sides = [NamedScenario("Today", training)]
    if beside:
        sides += [NamedScenario("Tomorrow", Scenario("mlp-tiny"))]
    session.reset(State(tuple(sides)))
    answering.request()
    settle(opening)
    trace = TRACES / "mlp-tiny.json.gz"
    opening.open([trace])
    settle(opening)
    assert "27% of the ops of this training step" in opening.banner.label.text()
    assert session.state.sides[0].measured == ""
    shown = "Switch to B" if beside else "Switch to the inference step"
    assert list(offers(opening))[:2] == [shown, "Overlay anyway"]
    run_it(opening)
    state = session.state
    assert state.current == beside and state.sides[state.current].measured == str(trace)
    assert state.scenario == Scenario("mlp-tiny")
    assert state.sides[0].scenario == (training if beside else Scenario("mlp-tiny"))
    assert session.history.undoText() == "overlay measured step"


def test_a_scenario_a_gpu_and_a_trace_are_a_step_each(opening: Opening, tmp_path: Path):
    saved = tmp_path / "t.rpt.json"
    trace_file.save(predict(FIRST).trace, saved)
    save_scenario(replace(FIRST, batch=3), tmp_path / "s.toml")
    card = next(PACKAGED.glob("l4*.toml"))
    opening.open([tmp_path / "s.toml", card, saved])
    settle(opening)
    session = opening.session
    assert session.history.count() == 3
    assert session.state.scenario.trace_file == saved.resolve()
    assert session.state.scenario.gpu == str(card)
    session.history.undo()
    assert session.state.scenario == replace(FIRST, batch=3, gpu=str(card))


def test_a_file_that_is_not_a_trace_leaves_the_running_scenario(opening: Opening, tmp_path: Path):
    saved = tmp_path / "prediction.json"
    saved.write_text('{"format": "ridgepoint-prediction"}', "utf-8")
    opening.open([saved])
    settle(opening)
    assert f"{saved} is not a Ridgepoint trace" in opening.banner.label.text()
    assert opening.session.state.scenario == FIRST and not opening.session.history.count()


def offers(opening: Opening) -> dict[str, QToolButton]:
    buttons = [opening.banner.offers.itemAt(at) for at in range(opening.banner.offers.count())]
    return {b.widget().text(): b.widget() for b in buttons}  # pyright: ignore


def test_a_session_does_not_replace_unsaved_scenarios_unasked(opening: Opening, tmp_path: Path):
    first, other = tmp_path / "first.ridge", tmp_path / "other.ridge"
    save(other, State((NamedScenario("Other", replace(FIRST, batch=5)),)))
    session = opening.session
    opening.files.save(first)
    session.set_scenario(replace(FIRST, batch=7), "batch 7")
    opening.open([other])
    assert session.state.scenario.batch == 7 and session.history.count() == 1
    assert opening.banner.label.text() == (
        "other.ridge replaces all scenarios, but the changes to first.ridge are not saved"
    )
    assert [*offers(opening)] == ["Save and open", "Open without saving"]
    assert opening.banner.dismissing.text() == "Cancel"
    offers(opening)["Save and open"].click()
    assert session.state.scenario.batch == 5 and opening.files.path == other
    opening.open([first])  # nothing is unsaved, so no question appears
    assert session.state.scenario.batch == 7
    session.set_scenario(replace(FIRST, batch=9), "batch 9")
    opening.open([other])
    offers(opening)["Open without saving"].click()
    assert session.state.scenario.batch == 5
    opening.open([first])
    assert session.state.scenario.batch == 7


def test_the_saved_session_opens_again_without_being_overwritten(opening: Opening, tmp_path: Path):
    path, session = tmp_path / "first.ridge", opening.session
    opening.files.save(path)
    session.set_scenario(replace(FIRST, batch=7), "batch 7")
    opening.open([tmp_path / "." / "first.ridge"])
    assert opening.banner.label.text() == (
        "Opening first.ridge again discards its changes that are not saved"
    )
    assert [*offers(opening)] == ["Open without saving"]
    offers(opening)["Open without saving"].click()
    assert session.state.scenario == FIRST and not opening.files.edited


def test_an_unknown_file_is_a_banner_and_nothing_else(opening: Opening, tmp_path: Path):
    (tmp_path / "x.docx").write_bytes(b"\xff\x00")
    (tmp_path / "bad.toml").write_bytes(b"\xff\x00")
    for name in ("x.docx", "bad.toml", "gone.ridge"):
        opening.banner.hide()
        opening.open([tmp_path / name])
        assert not opening.banner.isHidden() and name in opening.banner.label.text()
    assert opening.session.state.scenario == FIRST and not opening.session.history.count()


def test_recent_files_are_listed_and_a_missing_one_is_greyed(opening: Opening, tmp_path: Path):
    for name in ("old", "new"):
        opening.files.save(tmp_path / name)
    (tmp_path / "old.ridge").unlink()
    menu = QMenu()
    opening.fill_recent(menu)
    entries = [(action.text(), action.isEnabled()) for action in menu.actions()]
    assert entries == [("new.ridge", True), ("old.ridge (missing)", False)]


def test_files_of_every_kind_are_recent_once_opened(opening: Opening, tmp_path: Path):
    card = next(PACKAGED.glob("l4*.toml"))
    opening.open([card, tmp_path / "gone.toml"])
    opening.open([FOLDER / "03-intensity.toml"])
    menu = QMenu()
    opening.fill_recent(menu)
    assert [action.text() for action in menu.actions()] == ["03-intensity.toml", card.name]
    opening.session.history.undo()
    opening.session.history.undo()
    menu.actions()[1].trigger()
    assert opening.session.state.scenario.gpu == str(card)


def test_recovery_is_offered_and_can_be_dismissed(opening: Opening):
    left = places.folder() / "autosave-999999999.ridge"
    left.parent.mkdir(exist_ok=True)
    save(left, State((NamedScenario("Lost", replace(FIRST, batch=5)),)))
    opening.offer_recovery()
    assert opening.banner.label.text().startswith("Ridgepoint closed 1 s ago with unsaved")
    buttons = [opening.banner.offers.itemAt(at).widget() for at in range(2)]  # pyright: ignore
    texts = [button.text() for button in buttons]  # pyright: ignore
    assert texts == ["Restore", "Discard"]
    banner = opening.banner  # "Not now" replaces "Dismiss", and a question has no Copy button
    assert banner.dismissing.text() == "Not now" and banner.copying.isHidden()
    buttons[1].click()  # pyright: ignore
    assert not left.exists() and opening.session.state.scenario == FIRST
    assert banner.isHidden()
    banner.say("cannot open it")
    assert banner.dismissing.text() == "Dismiss" and not banner.copying.isHidden()


def test_lessons_and_packs_are_identified_by_their_format(tmp_path: Path):
    path = FOLDER / "03-intensity.toml"
    assert identify(path).kind == "lesson"
    pack = tmp_path / "pack.toml"
    pack.write_text(pack_text("Week", [path]), "utf-8")
    assert identify(pack).kind == "lesson"
