"""The draft plan of a session without a plan: the open scenario as a workload."""

from pathlib import Path

from app.answers.plan.draft import first
from app.answers.plan.scenario_draft import of_scenario
from simulator.hardware.gpu import gpu
from simulator.scenario.scenario import Scenario
from tests.app.answers.plan.test_draft import sentence_text


def test_a_training_step_is_trained_on_its_gpu_in_its_precision():
    draft = of_scenario(Scenario("bert-base", "v100", batch=8, seq=64, dtype="fp32", training=True))
    assert sentence_text(draft) == (
        "[Train] [bert-base] in [fp32] on [115M] [samples] in batches of [the best size] a GPU, "
        "within [any time], costing at most [any amount]."
    )
    assert draft.get("workload", "seq") == 64
    assert draft.get("candidates", "gpus") == [gpu("v100").id, *first().get("candidates", "gpus")]


def test_a_decode_step_is_served():
    assert of_scenario(Scenario("llama3-8b-decode", "h200", batch=4, seq=512)) == first()
    draft = of_scenario(Scenario("gpt-oss-20b", dtype="autocast"))
    assert sentence_text(draft) == sentence_text(first()).replace("llama3-8b", "gpt-oss-20b")


def test_another_step_runs_in_batches():
    assert sentence_text(of_scenario(Scenario("mine.py:Net"))) == (
        "[Run] [mine.py:Net] in [bf16] on [the most] samples a second, in batches of [the best "
        "size], each batch within [any time], costing at most [any amount]."
    )


def test_a_gpu_of_the_user_is_no_candidate(tmp_path: Path):
    own = {"id": "mine", "name": "Mine"}
    assert of_scenario(Scenario("llama3-8b-decode", own)) == first()


def test_a_saved_trace_has_no_plan_of_its_own():
    assert of_scenario(Scenario("step.rpt")) == first()
