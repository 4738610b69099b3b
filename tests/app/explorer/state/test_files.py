"""A session's file: saved and opened without loss, autosaved, recovered after kill -9."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.examples import FIRST
from app.explorer.state import places
from app.explorer.state.files import Files
from app.explorer.state.places import Remembered
from app.explorer.state.session import NamedScenario, Session, State
from app.widgets.drawing import application
from simulator.errors import InputError

KILLED = """
import os, signal
from dataclasses import replace
from app.examples import FIRST
from app.explorer.state.files import Files
from app.explorer.state.places import Remembered
from app.widgets.drawing import application
from app.explorer.state.session import NamedScenario, Session, State
running = application()
session = Session(State((NamedScenario("Today", FIRST),)))
files = Files(session, Remembered(), lambda: {"Explore": "AAEC"}, lambda docks: None)
session.set_scenario(replace(FIRST, batch=77), "batch 77")
files.autosave()
files._wait()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(places.FOLDER_VARIABLE, str(tmp_path / "state"))


@pytest.fixture
def laid() -> list[dict[str, str]]:
    return []


@pytest.fixture
def files(laid: list[dict[str, str]]) -> Files:
    application()
    session = Session(State((NamedScenario("Today", FIRST),)))
    return Files(session, Remembered(), lambda: {"Explore": "AAEC"}, laid.append)


def test_saved_and_opened_again(files: Files, tmp_path: Path, laid: list[dict[str, str]]):
    files.session.set_scenario(replace(FIRST, batch=8), "batch 8")
    assert files.edited and files.title == ""
    files.save(tmp_path / "one")
    assert files.title == "one.ridge, saved"
    first = (tmp_path / "one.ridge").read_bytes()
    files.session.set_scenario(replace(FIRST, batch=9), "batch 9")
    assert files.title == "one.ridge, edited"
    files.open(tmp_path / "one.ridge")
    assert files.session.state.scenario.batch == 8 and laid == [{"Explore": "AAEC"}]
    files.save(tmp_path / "one.ridge")
    assert (tmp_path / "one.ridge").read_bytes() == first


def test_recent_files_are_remembered_the_newest_first(files: Files, tmp_path: Path):
    for name in ("one", "two", "one"):
        files.save(tmp_path / name)
    names = [Path(name).name for name in Remembered.read().recent]
    assert names == ["one.ridge", "two.ridge"]


def test_a_change_is_written_by_itself_and_a_saved_one_is_not(files: Files, tmp_path: Path):
    files.session.set_scenario(replace(FIRST, batch=8), "batch 8")
    files._timer.timeout.emit()
    files._wait()
    assert json.loads(places.autosave().read_text("utf-8"))["sides"][0]["scenario"]["batch"] == 8
    files.save(tmp_path / "one")
    files.autosave()
    assert not places.autosave().exists()


def test_the_autosave_of_a_killed_process_is_restored_once(files: Files):
    done = subprocess.run([sys.executable, "-c", KILLED], env={**os.environ}, timeout=60)
    assert done.returncode == -signal.SIGKILL
    left = files.unsaved()
    assert left is not None and left != places.autosave()
    files.restore(left)
    assert files.session.state.scenario == replace(FIRST, batch=77)
    assert files.edited and files.unsaved() is None
    files._wait()
    assert places.autosave().exists()  # it is the only copy of the state


def test_a_recovered_session_knows_its_file(files: Files, tmp_path: Path):
    files.save(tmp_path / "mine")
    files.session.set_scenario(replace(FIRST, batch=9), "batch 9")
    files.autosave()
    files._wait()
    left = places.autosave().rename(places.folder() / "autosave-999999999.ridge")
    other = Files(
        Session(State((NamedScenario("Today", FIRST),))), Remembered(), dict, lambda _: None
    )
    other.restore(left)
    assert other.path == tmp_path / "mine.ridge" and other.title == "mine.ridge, edited"
    other.save(tmp_path / "mine.ridge")
    assert "saved_as" not in (tmp_path / "mine.ridge").read_text("utf-8")
    other._wait()


def test_a_theme_is_remembered_at_once(files: Files):
    files.session.set_theme("light")
    assert Remembered.read().theme == "light"


def test_a_torn_file_is_refused_and_not_offered_again(files: Files):
    path = places.folder() / "autosave-999999999.ridge"
    path.parent.mkdir()
    path.write_text("{", "utf-8")
    left = files.unsaved()
    assert left == path
    with pytest.raises(InputError, match="is not a Ridgepoint session"):
        files.restore(left)
    assert files.unsaved() is None and files.session.state.scenario == FIRST


def test_old_autosaves_are_deleted(files: Files):
    path = places.folder() / "autosave-999999999.ridge"
    path.parent.mkdir()
    path.write_text("{", "utf-8")
    os.utime(path, (0, 0))
    assert files.unsaved() is None and not path.exists()
