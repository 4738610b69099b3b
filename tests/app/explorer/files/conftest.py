"""The file actions of a window, without the window."""

from pathlib import Path

import pytest

from app.examples import FIRST
from app.explorer.background.answering import Answering
from app.explorer.background.worker import Worker
from app.explorer.files.banner import Banner
from app.explorer.files.network_files import NetworkFiles
from app.explorer.files.opening import Opening
from app.explorer.state.files import Files
from app.explorer.state.places import FOLDER_VARIABLE, Remembered
from app.explorer.state.session import NamedScenario, Session, State
from app.widgets.drawing import application


@pytest.fixture
def opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "state"))
    monkeypatch.setenv("RIDGEPOINT_TRACES", str(tmp_path / "traces"))
    application()
    session = Session(State((NamedScenario("Today", FIRST),)))
    files = Files(session, Remembered(), dict, lambda docks: None)
    banner = Banner()
    worker = Worker()
    networks = NetworkFiles(banner, session, Answering(session, worker), banner)
    yield Opening(banner, session, files, banner, networks)
    networks.cancel()
    worker.close()
