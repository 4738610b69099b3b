"""Files of the desktop: told apart, opened, refused; code runs after a word of the user alone."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QElapsedTimer
from PySide6.QtWidgets import QMenu

from app.examples import FIRST
from app.explorer.background.answering import Answering
from app.explorer.background.worker import Worker
from app.explorer.files.banner import Banner
from app.explorer.files.network_files import NetworkFiles
from app.explorer.files.opening import Opening
from app.explorer.state import places
from app.explorer.state.files import Files
from app.explorer.state.incoming import code_of, incoming
from app.explorer.state.places import FOLDER_VARIABLE, Remembered
from app.explorer.state.session import Named, Session, State
from app.explorer.state.session_file import save
from app.widgets.drawing import application
from simulator.errors import InputError
from simulator.hardware import gpu
from simulator.scenario.scenario import Scenario
from simulator.scenario.scenario import save as save_scenario

TRACES = Path(__file__).parents[3] / "simulator" / "profiler_traces"
PACKAGED = Path(gpu.__file__).parent / "gpus"


@pytest.fixture
def opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "state"))
    monkeypatch.setenv("RIDGEPOINT_TRACES", str(tmp_path / "traces"))
    application()
    session = Session(State((Named("Today", FIRST),)))
    files = Files(session, Remembered(), dict, lambda docks: None)
    banner = Banner()
    worker = Worker()
    networks = NetworkFiles(banner, session, Answering(session, worker), banner)
    yield Opening(banner, session, files, banner, networks)
    networks.cancel()
    worker.close()


def test_each_kind_of_file_is_told(tmp_path: Path):
    save_scenario(FIRST, tmp_path / "s.toml")
    (tmp_path / "g.toml").write_text("name = 1", "utf-8")
    for name in ("a.ridge", "t.rpt.json", "n.py", "x.docx"):
        (tmp_path / name).write_text("{", "utf-8")
    found = {
        name: incoming(tmp_path / name).what
        for name in ("s.toml", "g.toml", "a.ridge", "t.rpt.json", "n.py")
    }
    assert found == {
        "s.toml": "scenario",
        "g.toml": "gpu",
        "a.ridge": "session",
        "t.rpt.json": "trace",
        "n.py": "network",
    }
    with pytest.raises(InputError, match=r"x.docx is nothing that can be opened here: expected"):
        incoming(tmp_path / "x.docx")
    with pytest.raises(InputError, match="expected a file that is there"):
        incoming(tmp_path / "gone.ridge")


def test_a_profilers_trace_is_laid_over_and_can_be_taken_away(opening: Opening, tmp_path: Path):
    trace, packed = tmp_path / "step.json", tmp_path / "step.json.gz"
    packed.write_bytes((TRACES / "mlp-tiny.json.gz").read_bytes())
    trace.write_text('{"schemaVersion": 1, "traceEvents": []}', "utf-8")
    assert [incoming(path).what for path in (trace, packed)] == ["profile", "profile"]
    session = opening.session
    opening.open([packed])
    settle(opening)
    assert session.state.sides[0].measured == str(packed)
    assert session.state.scenario == FIRST
    opening.open([trace])  # without kernels: said, and the one before stays
    settle(opening)
    assert f"{trace} has no kernels of a GPU among 0 events" in opening.banner.label.text()
    assert session.state.sides[0].measured == str(packed) and session.history.count() == 1
    session.history.undo()
    assert session.state.sides[0].measured == ""


def test_a_trace_of_another_step_is_refused_and_may_be_laid_over_all_the_same(
    opening: Opening, tmp_path: Path
):
    session, answering = opening.session, opening.networks.answering
    asked = Scenario("bert-base", batch=8, seq=128, dtype="bf16")
    session.opened(State((Named("Today", asked),)))
    answering.ask()
    settle(opening)
    opening.open([TRACES / "bert-base.json.gz"])
    settle(opening)
    assert session.state.sides[0].measured == str(TRACES / "bert-base.json.gz")
    opening.open([TRACES / "mlp-tiny.json.gz"])  # products alone, which BERT has too
    settle(opening)
    assert session.state.sides[0].measured == str(TRACES / "bert-base.json.gz")
    said = opening.banner.label.text()
    assert said.startswith("mlp-tiny.json.gz is of another step: it has ")
    assert said.endswith(
        "of the ops of this inference in mode eager, and 93% of its kernels' time is in these; "
        "expected half or more of both; choose the network, step and mode that were measured, and "
        "open it again"
    )
    run_it(opening)
    assert session.state.sides[0].measured == str(TRACES / "mlp-tiny.json.gz")


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
    assert opening.banner.label.text() == (
        "Opening this network runs its Python code. Run it only if you trust the file.\n"
        f"{path.resolve()}"
    )
    assert not opening.networks.busy
    run_it(opening)
    assert opening.banner.label.text() == ("net.py raised SystemExit on line 1: ; correct the file")
    assert opening.session.state.scenario == FIRST and not opening.session.history.count()


NETWORK = """
import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self, width: int = 32):
        super().__init__()
        self.layer = nn.Linear(width, width)
    def forward(self, x):
        return self.layer(x)
    def example_inputs(self, batch=4, seq=16):
        return torch.empty(batch, seq, self.layer.in_features)
"""


def run_it(opening: Opening) -> None:
    """Trust the file, and wait until it is opened, refused or asked about."""
    opening.banner.offers.itemAt(0).widget().click()  # pyright: ignore
    settle(opening)


def settle(opening: Opening) -> None:
    """Wait until nothing is under way."""
    networks = opening.networks
    until(lambda: not networks.busy and not networks.worker.busy())


def until(done: Callable[[], bool]) -> None:
    """Let Qt go on until something has happened; a minute at most."""
    clock = QElapsedTimer()
    clock.start()
    while not done() and clock.elapsed() < 60_000:
        QCoreApplication.processEvents()
        time.sleep(0.005)


def test_the_one_network_of_a_file_is_opened_at_its_own_sizes(opening: Opening, tmp_path: Path):
    path = tmp_path / "single.py"
    path.write_text(NETWORK, "utf-8")
    opening.open([path])
    run_it(opening)
    now = opening.session.state.scenario
    assert (now.network, now.batch, now.seq) == (f"{path.resolve()}:Encoder", 4, 16)
    assert now.gpu == FIRST.gpu and opening.session.history.count() == 1
    answer = opening.networks.answering.answer
    assert answer is not None and answer.prediction.trace.samples == 4
    opening.session.history.undo()
    assert opening.session.state.scenario == FIRST


def test_several_networks_are_offered_with_their_signatures(opening: Opening, tmp_path: Path):
    path = tmp_path / "several.py"
    more = "class Block(Encoder):\n    def __init__(self, width, deep=2): ...\n"
    make = "def make(layers: int = 3) -> nn.Module:\n    return Encoder(8 * layers)\n"
    path.write_text(f"{NETWORK}\n{more}\n{make}\ndef main() -> None:\n    exit()\n", "utf-8")
    opening.open([path])
    run_it(opening)
    choice = opening.networks.choice
    assert choice is not None and choice.windowTitle() == "several.py has 2 networks"
    offered = [choice.list.item(at) for at in range(choice.list.count())]
    assert [item.text() for item in offered] == [
        "Encoder(width: int = 32)",
        "make(layers: int = 3)",
        "Block(width, deep=2)   needs width",
    ]
    assert not offered[2].flags() and opening.session.state.scenario == FIRST
    choice.list.setCurrentRow(1)
    choice.take()
    settle(opening)
    assert opening.session.state.scenario.network == f"{path.resolve()}:make"


def test_a_network_that_fails_leaves_the_scenario(opening: Opening, tmp_path: Path):
    path = tmp_path / "bad.py"
    for code, said in (
        (NETWORK.replace("self.layer(x)", "self.leyer(x)"), "has no attribute 'leyer'"),
        ("def make(:", "bad.py raised SyntaxError on line 1"),
        ("x = 1", "bad.py has no network: expected a function or a class that makes"),
        (
            "def make(width): ...",
            "bad.py has no factory that can be called without arguments: "
            "make(width); expected one; give its arguments defaults",
        ),
        ("import os\nos._exit(3)", "bad.py ended the process that read it"),
    ):
        path.write_text(code, "utf-8")
        opening.trusted.clear()
        opening.open([path])
        run_it(opening)
        assert said in opening.banner.label.text()
        assert opening.session.state.scenario == FIRST and not opening.session.history.count()


def test_a_saved_file_is_traced_again_and_a_broken_one_keeps_its_figures(
    opening: Opening, tmp_path: Path
):
    path = tmp_path / "edited.py"
    path.write_text(NETWORK, "utf-8")
    opening.open([path])
    run_it(opening)
    answering = opening.networks.answering
    first = answering.answer
    assert first is not None and answering.caught_up
    path.write_text(NETWORK.replace("self.layer(x)", "self.layer(self.layer(x))"), "utf-8")
    until(lambda: answering.answer is not first)
    second = answering.answer
    assert second is not None and answering.caught_up
    assert second.prediction.kernel_count == first.prediction.kernel_count + 1
    (tmp_path / "new").write_text(NETWORK.replace("self.layer(x)", "self.leyer(x)"), "utf-8")
    (tmp_path / "new").replace(path)  # as many editors save
    until(lambda: not opening.banner.isHidden())
    said = opening.banner.label.text()
    assert said.startswith("edited.py was saved, but not traced again: ") and "leyer" in said
    assert said.endswith(". The figures are of the file before")
    assert answering.answer is second and not answering.caught_up
    path.write_text(NETWORK, "utf-8")
    until(lambda: answering.caught_up)
    assert answering.answer is not None
    assert answering.answer.prediction.kernel_count == first.prediction.kernel_count


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
