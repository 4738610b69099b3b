"""Commands that take links, and the files that `explore` opens."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.commands.options import Opening, opening
from simulator.errors import InputError
from simulator.planning.spec_link import spec_link
from simulator.scenario.scenario import Scenario, save
from simulator.scenario.text.link import scenario_link
from simulator.whatif import apply
from tests.app.conftest import Run, stdout
from tests.app.plan_text import PLAN

BERT = apply(Scenario("bert-base", batch=64, seq=128, dtype="bf16"), "cuda_graph")
NOTHING: dict[str, Any] = dict.fromkeys(
    [
        *"network whatifs scenario gpu host batch seq dtype train optimizer mode".split(),
        *"size data_size op".split(),
    ]
)


def opened(**given: Any) -> Opening:
    return opening(**(NOTHING | {"time_limit": 60.0} | given))


def test_predict_takes_a_link_for_a_network_or_a_scenario(run: Run) -> None:
    link = scenario_link(BERT)
    words = "predict", "bert-base", "--batch", 64, "--seq", 128, "--dtype", "bf16", "+cuda_graph"
    expected = stdout(run(*words))
    assert stdout(run("predict", link)) == stdout(run("predict", "--scenario", link)) == expected
    other = stdout(run("predict", link, "--batch", 8, "+bandwidth=2"))
    assert "bert-base, batch 8 × 128, bf16, inference, +cuda_graph +bandwidth=2," in other


def test_a_fresh_process_reads_what_ifs_of_a_file_and_of_a_link(tmp_path: Path) -> None:
    save(BERT, tmp_path / "s.toml")
    for source in (tmp_path / "s.toml", scenario_link(BERT)):
        command = [sys.executable, "-m", "app.cli", "predict", "--scenario", str(source)]
        ran = subprocess.run(command, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert "+cuda_graph" in ran.stdout


def test_a_plan_takes_its_link(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    of_file, of_link = (
        stdout(run("plan", source)).splitlines()[:4]
        for source in (tmp_path / "plan.toml", spec_link(PLAN))
    )
    assert of_file == of_link


@pytest.mark.parametrize(
    ("command", "address", "message"),
    [
        (
            "predict",
            "ridgepoint://scenario/1/HTPb-6ONs0lwJFc1_jQNAA",
            "error: the link is damaged: its checksum differs: expected the complete link from "
            "Copy link; copy it again\n",
        ),
        (
            "plan",
            "ridgepoint://scenario/1/HTPb-6ONs0lwJFc0_jQNAA",
            "error: the link holds a scenario: expected a plan; open it in the explorer\n",
        ),
        (
            "explore",
            "ridgepoint://picture/1/AAAA",
            "error: 'ridgepoint://picture/1/AAAA' is not a link: expected "
            "ridgepoint://scenario/… or ridgepoint://plan/…, as Copy link writes it\n",
        ),
    ],
)
def test_a_bad_link_is_one_message(run: Run, command: str, address: str, message: str) -> None:
    result = run(command, address)
    assert (result.exit_code, result.stderr) == (2, message)


def test_explore_opens_sessions_scenarios_plans_and_links() -> None:
    link = spec_link(PLAN)
    for word in ("talk.ridge", "a b/plan.toml", link):
        window = opened(network=word)
        assert window.file == word and window.scenario.network == "bert-base"
    assert opened(network="file:///tmp/a%20b.ridge").file == "/tmp/a b.ridge"
    of_link = opened(network=scenario_link(BERT))
    assert of_link.scenario == BERT and of_link.file == ""
    assert opened().file == "" and opened(network="gpt2").scenario.network == "gpt2"


def test_options_next_to_a_session_are_refused() -> None:
    for more, option in (({"gpu": "a100"}, "--gpu"), ({"whatifs": ["+cuda_graph"]}, "what-ifs")):
        with pytest.raises(InputError) as refused:
            opened(network="talk.ridge", **more)
        assert str(refused.value) == (
            f"talk.ridge and {option} are both given: expected the file alone; change it in the "
            "window"
        )
