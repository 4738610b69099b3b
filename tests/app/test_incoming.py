"""Files of the desktop: told apart, opened, refused; code runs after a word of the user alone."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMenu

from app.examples import FIRST
from app.explorer.state import places
from app.explorer.state.files import Files
from app.explorer.state.incoming import code_of, incoming
from app.explorer.state.places import FOLDER_VARIABLE, Remembered
from app.explorer.state.session import Named, Session, State
from app.explorer.state.session_file import save
from app.explorer.window.banner import Banner
from app.explorer.window.opening import Opening
from app.widgets.drawing import application
from simulator.errors import InputError
from simulator.hardware import gpu
from simulator.scenario.scenario import Scenario
from simulator.scenario.scenario import save as save_scenario

PACKAGED = Path(gpu.__file__).parent / "gpus"


@pytest.fixture
def opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "state"))
    application()
    session = Session(State((Named("Today", FIRST),)))
    files = Files(session, Remembered(), dict, lambda docks: None)
    banner = Banner()
    return Opening(banner, session, files, banner)


def test_each_kind_of_file_is_told(tmp_path: Path):
    save_scenario(FIRST, tmp_path / "s.toml")
    (tmp_path / "g.toml").write_text("name = 1", "utf-8")
    for name in ("a.ridge", "t.rpt.json", "n.py", "x.docx"):
        (tmp_path / name).write_text("{", "utf-8")
    found = {name: incoming(tmp_path / name).what
             for name in ("s.toml", "g.toml", "a.ridge", "t.rpt.json", "n.py")}  # fmt: skip
    assert found == {"s.toml": "scenario", "g.toml": "gpu", "a.ridge": "session",
                     "t.rpt.json": "trace", "n.py": "network"}  # fmt: skip
    with pytest.raises(InputError, match=r"x.docx is nothing that can be opened here: expected"):
        incoming(tmp_path / "x.docx")
    with pytest.raises(InputError, match="expected a file that is there"):
        incoming(tmp_path / "gone.ridge")


def test_a_profilers_trace_is_laid_over_and_can_be_taken_away(opening: Opening, tmp_path: Path):
    trace = tmp_path / "step.json"
    trace.write_text('{"schemaVersion": 1, "traceEvents": []}', "utf-8")
    packed = tmp_path / "step.json.gz"
    packed.write_bytes(b"")
    assert [incoming(path).what for path in (trace, packed)] == ["profile", "profile"]
    session = opening.session
    opening.open([trace])
    assert session.state.sides[0].measured == str(trace)
    assert session.state.scenario == FIRST
    session.history.undo()
    assert session.state.sides[0].measured == ""


def test_a_scenario_a_gpu_and_a_trace_are_a_step_each(opening: Opening, tmp_path: Path):
    saved = tmp_path / "t.rpt.json"
    saved.write_text("{", "utf-8")
    save_scenario(replace(FIRST, batch=3), tmp_path / "s.toml")
    card = next(PACKAGED.glob("l4*.toml"))
    opening.open([tmp_path / "s.toml", card, saved])
    session = opening.session
    assert session.history.count() == 3
    assert session.state.scenario.trace_file == saved.resolve()
    assert session.state.scenario.gpu == str(card)
    session.history.undo()
    assert session.state.scenario == replace(FIRST, batch=3, gpu=str(card))


def test_an_unknown_file_is_a_banner_and_nothing_else(opening: Opening, tmp_path: Path):
    (tmp_path / "x.docx").write_bytes(b"\xff\x00")
    (tmp_path / "bad.toml").write_bytes(b"\xff\x00")
    for name in ("x.docx", "bad.toml", "gone.ridge"):
        opening.banner.hide()
        opening.open([tmp_path / name])
        assert not opening.banner.isHidden() and name in opening.banner.label.text()
    assert opening.session.state.scenario == FIRST and not opening.session.history.count()


def test_code_runs_only_after_a_word_of_the_user(opening: Opening, tmp_path: Path):
    path = tmp_path / "net.py"
    path.write_text("raise SystemExit", "utf-8")
    opening.open([path])
    assert opening.session.state.scenario == FIRST
    assert "net.py" in opening.banner.label.text() and "is run as a program" in (
        opening.banner.label.text())  # fmt: skip
    button = opening.banner.offers.itemAt(0)
    assert button is not None
    button.widget().click()  # pyright: ignore
    assert opening.session.state.scenario.network == str(path.resolve())


def test_a_session_that_names_code_asks_too(opening: Opening, tmp_path: Path):
    path = tmp_path / "net.py"
    path.write_text("raise SystemExit", "utf-8")
    scenario = Scenario(f"{path}:make")
    assert code_of(scenario) == path and code_of(FIRST) is None
    save(tmp_path / "s.ridge", State((Named("Theirs", scenario),)))
    opening.open([tmp_path / "s.ridge"])
    assert opening.session.state.scenario == FIRST
    assert opening.files.path is None


def test_recent_files_are_listed_and_a_missing_one_is_greyed(opening: Opening, tmp_path: Path):
    for name in ("old", "new"):
        opening.files.save(tmp_path / name)
    (tmp_path / "old.ridge").unlink()
    menu = QMenu()
    opening.fill_recent(menu)
    said = [(action.text(), action.isEnabled()) for action in menu.actions()]
    assert said == [("new.ridge", True), ("old.ridge, missing", False)]


def test_what_was_left_is_offered_and_may_be_let_go(opening: Opening):
    left = places.folder() / "autosave-999999999.ridge"
    left.parent.mkdir(exist_ok=True)
    save(left, State((Named("Lost", replace(FIRST, batch=5)),)))
    opening.offer_recovery()
    assert "before its scenarios were saved" in opening.banner.label.text()
    buttons = [opening.banner.offers.itemAt(at).widget() for at in range(2)]  # pyright: ignore
    assert [button.text() for button in buttons] == ["Recover", "Let go"]  # pyright: ignore
    buttons[1].click()  # pyright: ignore
    assert not left.exists() and opening.session.state.scenario == FIRST
    assert opening.banner.isHidden()
