"""The traces of a network: shared between equivalent cards, fitted if that is faster, and stored on
disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulator.errors import InputError
from simulator.hardware.gpu import gpus
from simulator.records import Trace
from simulator.scenario import trace_source
from simulator.scenario.gpu_class import traced_properties
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, predict
from simulator.scenario.traces import families as trace_families
from simulator.scenario.traces.families import expecting
from simulator.whatif import apply
from tests.simulator.whatif.conftest import small_scenario

BERT = small_scenario("bert-base", dtype="fp16", seq=16)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(trace_source.FOLDER_VARIABLE, raising=False)
    trace_source.forget()
    yield
    trace_source.forget()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Batch and sequence of every trace that is computed, not read."""
    traced: list[tuple[int, int]] = []
    run = trace_source._run

    def counted(ask: Any, gpu: Any) -> Trace:
        traced.append((ask.batch, ask.seq))
        return run(ask, gpu)

    monkeypatch.setattr(trace_source, "_run", counted)
    return traced


def fresh(scenario: Scenario) -> Trace:
    resolved = resolve(scenario)
    return trace_source._run(trace_source._settled(resolved.request), resolved.gpu)


def trace(scenario: Scenario) -> Trace:
    return trace_source.trace_resolved(resolve(scenario))


def same(ours: Trace, theirs: Trace) -> bool:
    # compared as a bool, because an assertion would print both traces in full
    return ours == theirs


CARDS = {(g.compute_capability, g.vendor, bool(g.peak("tensor", "bf16"))): g for g in gpus()}


@pytest.mark.layered(5)
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("bert-base", dict(dtype="fp16", seq=16)),
        ("llama3-1b", dict(dtype="bf16", seq=16, training=True)),
        ("resnet18", dict(training=True)),
        ("lstm", dict(training=True, seq=8)),
    ],
)
def test_equivalent_cards_share_a_trace(name: str, more: dict[str, Any]) -> None:
    base = small_scenario(name, **more)
    first: dict[Any, Trace] = {}
    others = 0
    for card in CARDS.values():
        if traced_properties(name, card) not in first:
            fresh(replace(base, gpu=card.id))  # work that a process does only once is done here
        there = fresh(replace(base, gpu=card.id))
        like = first.setdefault(traced_properties(name, card), there)
        others += like is not there
        assert same(trace_source._named(like, card.id), there)
    assert len(first) + others == len(CARDS)
    assert others or name == "lstm"


def test_an_answer_on_another_card_has_its_name(runs: list[Any]) -> None:
    p, q = predict(BERT), predict(replace(BERT, gpu="b200"))
    assert (p.trace.gpu, q.trace.gpu) == ("h200_sxm", "b200_sxm")
    assert len(runs) == 1 and q.trace.ops is p.trace.ops


def test_a_family_answers_from_the_fourth_batch_on(runs: list[Any]) -> None:
    for batch in (2, 3, 5):
        predict(replace(BERT, batch=batch))
    assert runs == [(2, 16), (3, 16), (5, 16)]
    resolved = resolve(replace(BERT, batch=9))
    assert trace_source.reason_to_trace(resolved.request, resolved.gpu) is not None
    predict(replace(BERT, batch=9))
    fitted = len(runs)
    assert 3 < fitted < 12
    assert trace_source.reason_to_trace(resolved.request, resolved.gpu) is None
    for batch in (1, 7, 64, 333):
        there = replace(BERT, batch=batch)
        assert same(trace(there), fresh(there))
    assert len(runs) == fitted + 4  # the traces to compare with


def test_a_family_along_the_sequence(runs: list[Any]) -> None:
    with expecting(1, 100):
        trace(BERT)
    fitted = len(runs)
    for seq in (1, 3, 17, 64, 100, 333, 512):
        there = replace(BERT, seq=seq)
        ours = trace(there)
        assert same(ours, fresh(there))
    assert {b for b, _ in runs} == {4}
    assert len(runs) == fitted + 7


def test_a_family_over_the_plane(runs: list[Any]) -> None:
    with expecting(10, 10):
        trace(BERT)
    fitted = len(runs)
    for batch, seq in ((1, 16), (3, 33), (40, 100), (7, 64)):
        there = replace(BERT, batch=batch, seq=seq)
        assert same(trace(there), fresh(there))
    assert len(runs) == fitted + 4


def test_few_points_are_traced(runs: list[Any]) -> None:
    with expecting(4):
        for batch in (2, 3):
            trace(replace(BERT, batch=batch))
    assert len(runs) == 2


def test_past_the_last_position_there_is_no_trace() -> None:
    with expecting(1, 100):
        trace(BERT)
    for _ in range(2):
        with pytest.raises(InputError, match="512 positions"):
            trace(replace(BERT, seq=600))


def test_a_family_that_differs_from_a_trace_is_dropped(
    runs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = trace(replace(BERT, batch=3, seq=17))

    class Wrong:
        def at(self, batch: int, seq: int | None) -> Trace:
            return wrong

        def reason_to_retrace(self, batch: int, seq: int | None) -> None:
            return None

    monkeypatch.setattr(trace_families.Symbolic, "fit", lambda *args, **kwargs: Wrong())
    trace(replace(BERT, batch=2))
    with expecting(100):
        for batch in (5, 6):
            there = replace(BERT, batch=batch)
            assert trace(there).samples == batch


def test_traces_on_disk(tmp_path: Path, runs: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    trace_source.keep_on_disk(tmp_path)
    p = predict(BERT)
    assert len(runs) == 1 and len(list(tmp_path.glob("*.trace"))) == 1
    trace_source.forget()
    trace_source.keep_on_disk(tmp_path)
    q = predict(replace(BERT, gpu="b200"))
    assert same(predict(BERT).trace, p.trace) and predict(BERT).period_s == p.period_s
    assert len(runs) == 1 and q.trace.gpu == "b200_sxm"
    resolved = resolve(BERT)
    assert trace_source.facts(resolved.request, resolved.gpu) == ("bert-base", 4, 16)
    predict(apply(BERT, "sdpa", {"backend": "math"}))
    assert len(runs) == 2  # a new trace
    trace_source.forget()
    monkeypatch.setenv(trace_source.FOLDER_VARIABLE, "off")
    trace_source.keep_on_disk(tmp_path)
    predict(BERT)
    assert len(runs) == 3
    trace_source.forget()
    monkeypatch.setenv(trace_source.FOLDER_VARIABLE, str(tmp_path / "mine"))
    trace_source.keep_on_disk(tmp_path)
    predict(BERT)
    assert len(list((tmp_path / "mine").glob("*.trace"))) == 1
