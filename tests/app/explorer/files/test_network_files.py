"""Network files: their code runs only after the user agrees, and again when they are saved."""

import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget

from app.examples import FIRST
from app.explorer.background.factories import list_factories
from app.explorer.files.factory_choice import FactoryChoice
from app.explorer.files.opening import Opening
from app.explorer.state.incoming import code_of
from app.explorer.state.session import NamedScenario, State
from app.explorer.state.session_file import save
from app.widgets.drawing import application
from simulator.scenario.scenario import Scenario
from tests.app.explorer.files.settling import run_it, settle, until

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
    assert opening.banner.label.text() == ("net.py raised SystemExit on line 1; correct the file")
    assert opening.session.state.scenario == FIRST and not opening.session.history.count()


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
    choice.open_selected()
    settle(opening)
    assert opening.session.state.scenario.network == f"{path.resolve()}:make"


def test_a_class_without_inputs_does_not_hide_the_function_that_makes_them(tmp_path: Path):
    path = tmp_path / "pair.py"
    net = "from torch import empty, nn\n\nclass Net(nn.Linear):\n"
    net += "    def __init__(self, width=8):\n        super().__init__(width, width)\n\n"
    make = "def make(batch=2):\n    return Net(), (empty(batch, 8),)\n"
    path.write_text(net + make, "utf-8")
    listed = list_factories(path)
    assert [(f.name, f.without_inputs) for f in listed.factories] == [
        ("Net", True),
        ("make", False),
    ]
    assert listed.chosen is not None and listed.chosen.name == "make"
    other = "def deep():\n    return Net(), (empty(4, 8),)\n"
    path.write_text(net + make + other, "utf-8")
    application()
    parent = QWidget()
    choice = FactoryChoice(parent, path, list_factories(path).factories, lambda name: None)
    texts = [choice.list.item(at).text() for at in range(choice.list.count())]
    assert texts == ["make(batch=2)", "deep()", "Net(width=8)"]
    inputs = "def example_inputs(module, batch, seq):\n    return (empty(batch, 8),)\n"
    path.write_text(net + inputs, "utf-8")
    assert not list_factories(path).factories[0].without_inputs


def test_a_network_that_fails_leaves_the_scenario(opening: Opening, tmp_path: Path):
    path = tmp_path / "bad.py"
    for code, message in (
        (NETWORK.replace("self.layer(x)", "self.leyer(x)"), "has no attribute 'leyer'"),
        ("import os\nos._exit(3)", "bad.py ended the process that ran it"),
    ):
        path.write_text(code, "utf-8")
        opening.trusted.clear()
        opening.open([path])
        run_it(opening)
        assert message in opening.banner.label.text()
        assert opening.session.state.scenario == FIRST and not opening.session.history.count()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def make(:", "bad.py raised SyntaxError on line 1"),
        ("x = 1", "bad.py has no network: expected a function or a class that makes"),
        (
            "def make(width): ...",
            "bad.py has no factory that can be called without arguments: "
            "make(width); expected at least one; give the arguments of one factory default",
        ),
    ],
)
def test_a_file_without_a_network_is_refused(code: str, message: str, tmp_path: Path) -> None:
    """In this process: the banner shows the reason, as in the tests above."""
    path = tmp_path / "bad.py"
    path.write_text(code, "utf-8")
    assert list_factories(path).refused.startswith(message)


def test_a_saved_file_is_traced_again_and_a_broken_one_keeps_its_figures(
    opening: Opening, tmp_path: Path
):
    path = tmp_path / "edited.py"
    path.write_text(NETWORK, "utf-8")
    opening.open([path])
    run_it(opening)
    answering = opening.networks.answering
    first = answering.answer
    assert first is not None and answering.up_to_date
    path.write_text(NETWORK.replace("self.layer(x)", "self.layer(self.layer(x))"), "utf-8")
    until(lambda: answering.answer is not first)
    second = answering.answer
    assert second is not None and answering.up_to_date
    assert second.prediction.kernel_count == first.prediction.kernel_count + 1
    (tmp_path / "new").write_text(NETWORK.replace("self.layer(x)", "self.leyer(x)"), "utf-8")
    (tmp_path / "new").replace(path)  # many editors save in this way
    until(lambda: not opening.banner.isHidden())
    banner = opening.banner.label.text()
    assert banner.startswith("edited.py was saved, but cannot be traced: ") and "leyer" in banner
    assert banner.endswith(". The figures show the previous version")
    assert answering.answer is second and not answering.up_to_date
    path.write_text(NETWORK, "utf-8")
    until(lambda: answering.up_to_date)
    assert answering.answer is not None
    assert answering.answer.prediction.kernel_count == first.prediction.kernel_count


def test_a_session_that_names_code_asks_too(opening: Opening, tmp_path: Path):
    path = tmp_path / "net.py"
    path.write_text("raise SystemExit", "utf-8")
    scenario = Scenario(f"{path}:make")
    assert code_of(scenario) == path and code_of(FIRST) is None
    save(tmp_path / "s.ridge", State((NamedScenario("Theirs", scenario),)))
    opening.open([tmp_path / "s.ridge"])
    assert opening.session.state.scenario == FIRST
    assert opening.files.path is None


def test_a_file_that_takes_long_is_in_the_banner_and_can_be_cancelled(
    opening: Opening, tmp_path: Path
):
    path = tmp_path / "slow.py"
    path.write_text("import time\ntime.sleep(60)\n", "utf-8")
    opening.open([path])
    opening.banner.offers.itemAt(0).widget().click()  # pyright: ignore
    until(opening.banner.isVisible)
    assert opening.banner.label.text() == "Running slow.py to list its networks"
    assert opening.networks.busy
    cancel = opening.banner.offers.itemAt(0).widget()  # pyright: ignore
    assert cancel.text() == "Cancel"  # pyright: ignore
    cancel.click()  # pyright: ignore
    assert not opening.networks.busy and opening.banner.isHidden()
    assert opening.session.state.scenario == FIRST


def test_a_network_that_takes_long_to_trace_can_be_cancelled(opening: Opening, tmp_path: Path):
    path = tmp_path / "slow.py"
    slow = NETWORK.replace("return self.layer(x)", "import time; time.sleep(20); return x")
    path.write_text(slow, "utf-8")
    opening.open([path])
    opening.banner.offers.itemAt(0).widget().click()  # pyright: ignore
    until(lambda: opening.banner.label.text() == "Tracing Encoder of slow.py")
    assert opening.banner.isVisible()
    opening.banner.offers.itemAt(0).widget().click()  # pyright: ignore
    assert not opening.networks.worker.busy() and opening.banner.isHidden()
    assert opening.session.state.scenario == FIRST


@pytest.mark.parametrize(
    ("frozen", "refused"),
    [
        (
            False,
            "nets.py needs torch, which is not installed: expected torch; pip install "
            '"torch>=2.11,<2.14"',
        ),
        (
            True,
            "nets.py needs torch, which this bundle does not contain: expected a built-in network "
            'or a saved trace; for networks of your own: pip install "ridgepoint[gui]"',
        ),
    ],
)
def test_without_torch_a_file_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frozen: bool, refused: str
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    (tmp_path / "nets.py").write_text("raise SystemError", "utf-8")
    assert list_factories(tmp_path / "nets.py").refused == refused
