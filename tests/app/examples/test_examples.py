"""The packaged families give what tracing afresh gives."""

from dataclasses import replace
from pathlib import Path

import pytest

from app import examples
from simulator.errors import UntracedError
from simulator.scenario import trace_source
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, predict


@pytest.fixture
def elsewhere(tmp_path: Path):
    trace_source.forget()
    trace_source.keep_on_disk(str(tmp_path), even_if_off=True)
    trace_source.trace_elsewhere()
    yield
    trace_source.trace_elsewhere(False)
    trace_source.forget()


@pytest.mark.parametrize("scenario", [
    Scenario("resnet50", batch=37, dtype="bf16"),
    Scenario("gpt2", batch=3, seq=96, dtype="fp16"),
])  # fmt: skip
def test_a_packaged_family_gives_what_a_fresh_trace_gives(elsewhere: None, scenario: Scenario):
    """At sizes that no family was fitted at."""
    found = resolve(scenario)
    with pytest.raises(UntracedError):
        predict(scenario)
    assert examples.load(found.ask, found.gpu)
    packaged = predict(scenario)
    trace_source.forget()
    with pytest.raises(UntracedError):
        predict(scenario)
    trace_source.trace_elsewhere(False)
    fresh = predict(scenario)
    assert packaged.trace is not fresh.trace
    assert packaged.kernel_count == fresh.kernel_count
    assert packaged.period_s == pytest.approx(fresh.period_s, rel=1e-12)
    assert packaged.shares == pytest.approx(fresh.shares, rel=1e-9)
    assert packaged.peak_memory_bytes == fresh.peak_memory_bytes
    assert packaged.trace.weight_bytes == fresh.trace.weight_bytes


def test_families_of_another_ask_are_not_taken(elsewhere: None):
    found = resolve(Scenario("gpt2", dtype="fp16"))
    other = replace(found.ask, sizes=(("layers", 3),))
    assert not examples.load(other, found.gpu)
