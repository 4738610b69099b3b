"""The sizes of a user's own network, which the inspector learns from its answer."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from app.answers.answer import compute_answer
from app.answers.subject import subject
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
    answer: Any = SimpleNamespace(
        scenario=scenario,
        subject=SimpleNamespace(name="net.py:make", batch=16, seq=None, dtype="fp32"),
    )
    inspector.show_answer(answer)
    assert inspector.batch.isEnabled() and inspector.batch.box.text() == "16"
    assert not inspector.seq.isEnabled() and inspector.seq.box.text() == ""
    session.set_scenario(Scenario("bert-base"), "bert")
    inspector.show_scenario(session.state.scenario)
    assert inspector.batch.box.text() == "16" and inspector.seq.box.text() == "128"


def test_a_network_that_chooses_its_dtype_shows_it(tmp_path: Path):
    application()
    path = tmp_path / "net.py"
    path.write_text(
        "import torch\n"
        "def make():\n"
        "    return torch.nn.Linear(8, 8).bfloat16(), (torch.empty(4, 8, dtype=torch.bfloat16),)\n",
        "utf-8",
    )
    answer = compute_answer(Scenario(f"{path}:make"))
    assert (answer.subject.dtype, answer.subject.batch) == ("bf16", 4)  # not the default, fp32
    session = Session(State((NamedScenario("Mine", answer.scenario),)))
    inspector = Inspector(session, DARK)
    inspector.show_answer(answer)
    buttons = inspector.precision.buttons
    assert [name for name, button in buttons.items() if button.isChecked()] == ["bf16"]
    assert "net.py:make creates its weights in bf16" in buttons["fp32"].toolTip()
    assert subject(answer.scenario).dtype == "bf16"  # as on the command line
