"""The sizes of a network of one's own, which the inspector learns from its answer."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from app.explorer.inspector.inspector import Inspector
from app.explorer.state.session import NamedScenario, Session, State
from app.theme import DARK
from app.widgets.drawing import application
from simulator.scenario.scenario import Scenario


def test_a_network_with_inputs_of_its_own_shows_their_batch(tmp_path: Path):
    application()
    path = tmp_path / "net.py"
    path.write_text("def make(): ...\n", "utf-8")
    scenario = Scenario(f"{path}:make")
    session = Session(State((NamedScenario("Mine", scenario),)))
    inspector = Inspector(session, DARK)
    assert not inspector.batch.isEnabled() and inspector.batch.box.text() == ""
    answer: Any = SimpleNamespace(scenario=scenario, subject=SimpleNamespace(batch=16, seq=None))
    inspector.show_answer(answer)
    assert inspector.batch.isEnabled() and inspector.batch.box.text() == "16"
    assert not inspector.seq.isEnabled() and inspector.seq.box.text() == ""
    session.set_scenario(Scenario("bert-base"), "bert")
    inspector.show_scenario(session.state.scenario)
    assert inspector.batch.box.text() == "16" and inspector.seq.box.text() == "128"
