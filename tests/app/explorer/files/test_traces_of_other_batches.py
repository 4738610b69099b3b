"""Profiler traces of a step at another batch, with and without recorded shapes."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

from app.explorer.files.opening import Opening
from app.explorer.state.session import NamedScenario, State
from app.explorer.state.session_file import load, save, text
from simulator.scenario.scenario import Scenario
from tests.app.explorer.files.settling import run_it, settle
from tests.app.explorer.files.test_incoming import TRACES, offers


def test_a_trace_at_another_batch_hints_at_it_and_keeps_its_batch(opening: Opening, tmp_path: Path):
    session, answering = opening.session, opening.networks.answering
    scenario = Scenario("bert-base", batch=64, seq=128, dtype="bf16")  # measured at batch 8
    session.reset(State((NamedScenario("Today", scenario),)))
    answering.request()
    settle(opening)
    opening.open([TRACES / "bert-base.json.gz"])
    settle(opening)
    assert opening.banner.label.text().endswith(
        "predicted; 100% of the measured time is in ops of this step; check that batch, sequence "
        "length and precision are those of the measurement"
    )
    session.set_scenario(replace(scenario, batch=16), "batch 16")
    assert session.state.sides[0].measured_as == scenario
    save(tmp_path / "a.ridge", session.state)
    state, docks = load(tmp_path / "a.ridge")
    assert state.sides == session.state.sides and text(state, docks) == text(session.state)


def test_a_trace_with_other_shapes_is_refused_and_its_batch_is_offered(
    opening: Opening, tmp_path: Path
):
    """The products of mlp-tiny read batch × features; the trace was recorded at batch 32."""
    recorded = json.loads(gzip.decompress((TRACES / "mlp-tiny.json.gz").read_bytes()))
    products = [e for e in recorded["traceEvents"] if e.get("name") == "aten::addmm"]
    for event, out in zip(products, [128] * 8 + [10], strict=True):
        event["args"]["Input Dims"] = [[out], [32, 128], [128, out], [], []]
    trace = tmp_path / "shapes.json"
    trace.write_text(json.dumps(recorded), "utf-8")
    session, answering = opening.session, opening.networks.answering
    scenario = Scenario("mlp-tiny", batch=512)
    session.reset(State((NamedScenario("Today", scenario),)))
    answering.request()
    settle(opening)
    opening.open([trace])
    settle(opening)
    assert session.state.sides[0].measured == ""
    assert "addmm has a tensor of 32×128 elements in the trace, and of 512×128 in this step" in (
        opening.banner.label.text()
    )
    assert list(offers(opening))[:2] == ["Switch to batch 32", "Overlay anyway"]
    run_it(opening)
    assert session.state.scenario.batch == 32
    assert session.state.sides[0].measured == str(trace)
