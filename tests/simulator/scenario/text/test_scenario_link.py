"""Scenarios and plans as links."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from simulator.errors import InputError
from simulator.formats.link import link
from simulator.hardware.gpu import PACKAGED
from simulator.planning.spec_file import read as read_plan
from simulator.planning.spec_link import spec_link
from simulator.scenario.scenario import Scenario, load
from simulator.scenario.text.link import scenario_link
from simulator.whatif import apply

HEAD = 'format = "ridgepoint-scenario"\nversion = 1\n'
PLANS = sorted((Path(__file__).parents[4] / "examples" / "plans").glob("*.toml"))


def test_scenarios_come_back_from_their_links() -> None:
    bert = Scenario("bert-base", batch=64, seq=128, dtype="bf16", sizes={"layers": 4})
    for scenario in (
        Scenario("gpt2"),
        bert,
        apply(apply(bert, "cuda_graph"), "precision", {"dtype": "fp16"}),
        Scenario("swin-t", sizes={"depths": (2, 2, 6, 2)}, host_speed=1.5, training=True),
    ):
        address = scenario_link(scenario)
        assert load(address) == scenario and len(address) < 140
    figures = tomllib.loads((PACKAGED / "h200_sxm.toml").read_text("utf-8"))
    edited = replace(bert, gpu=figures)  # as written by the GPU editor
    assert load(scenario_link(edited)) == edited


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_plans_come_back_from_their_links(path: Path) -> None:
    if "requests_csv" in path.read_text("utf-8"):
        with pytest.raises(InputError, match=r"^the plan names '.*csv', which it does not contain"):
            spec_link(path.read_text("utf-8"))
    else:
        assert read_plan(spec_link(path.read_text("utf-8"))) == read_plan(path)


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("nets.py:make"), Scenario("hf:/tmp/model"), Scenario("timm:vit_tiny"),
        Scenario("step.rpt"), Scenario("saved-step"), Scenario("gpt2", gpu="my.toml"),
        Scenario("gpt2", host="my.json"),
    ],
    ids=lambda scenario: scenario.key,
)  # fmt: skip
def test_files_and_packages_have_no_link(scenario: Scenario) -> None:
    with pytest.raises(InputError, match=r"^the scenario names '.*', which it does not contain: "):
        scenario_link(scenario)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (
            f'{HEAD}network = "nets.py:make"',
            "the link names 'nets.py:make', which it does not contain: expected a built-in "
            "network, GPU and host; send the file instead",
        ),
        (
            f'{HEAD}network = "gpt2"\n[[whatif]]\nname = "gpu"\nto = "/tmp/x.toml"',
            "the link names '/tmp/x.toml', which it does not contain: expected a built-in "
            "network, GPU and host; send the file instead",
        ),
        (f'{HEAD}network = "gpt2"\nbatch = -1', "the link: batch is -1: expected 1 or more"),
        (
            "",
            "the link: 'format' is missing: expected format = \"ridgepoint-scenario\", version and "
            "network at least; add it",
        ),
        (
            "x =",
            "the link holds no scenario: Invalid value (at end of document); copy it again",
        ),
        (
            f"{'a.' * 10_000}a = 1",
            "the link holds lines of over 2000 characters: expected a scenario; copy it again",
        ),
    ],
)
def test_a_link_of_something_else_is_refused(toml: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        load(link("scenario", toml))
    assert str(refused.value) == message


def test_links_of_plans_and_scenarios_are_not_confused() -> None:
    with pytest.raises(InputError) as refused:
        load(link("plan", ""))
    assert str(refused.value) == (
        "the link holds a plan: expected a scenario; open it in the explorer or with `ridgepoint "
        "plan`"
    )
    with pytest.raises(InputError) as refused:
        read_plan(scenario_link(Scenario("gpt2")))
    assert str(refused.value) == (
        "the link holds a scenario: expected a plan; open it in the explorer"
    )
