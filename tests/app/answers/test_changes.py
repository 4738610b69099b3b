"""Changes of one value of a scenario."""

from app.answers.changes import as_fields
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

STEP = Scenario("bert-base", batch=16, seq=128, dtype="bf16")


def test_what_ifs_that_set_a_field_become_the_field() -> None:
    """Regression: the factory's "Larger orders" applied +batch=64, which no cluster accepts."""
    larger = apply(apply(STEP, "batch", {"samples": 64}), "seq", {"tokens": 256})
    assert as_fields(larger) == Scenario("bert-base", batch=64, seq=256, dtype="bf16")
    twice = apply(larger, "batch", {"samples": 32})
    assert as_fields(twice) == Scenario("bert-base", batch=32, seq=256, dtype="bf16")


def test_modes_become_fields_and_other_what_ifs_stay() -> None:
    graph = apply(STEP, "cuda_graph")
    assert as_fields(graph).mode == "cuda_graph" and not as_fields(graph).whatifs
    faster = apply(apply(STEP, "host_speed", {"times": 2.0}), "mode", {"to": "cuda_graph"})
    assert as_fields(faster).mode == "cuda_graph"
    assert [each.name for each in as_fields(faster).whatifs] == ["host_speed"]
