"""Traces and families made for another process, which reads them from disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from simulator.scenario import trace_source
from simulator.scenario.resolve import resolve
from simulator.scenario.traces.families import Line, expecting
from tests.simulator.whatif.conftest import small_scenario

BERT = resolve(
    small_scenario("bert-base", dtype="fp16", batch=2, seq=16, sizes={"layers": 1, "vocab": 64})
)


@pytest.fixture(autouse=True)
def _nothing_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(trace_source.FOLDER_VARIABLE, raising=False)
    trace_source.forget()
    trace_source.keep_on_disk(tmp_path)
    yield
    trace_source.trace_elsewhere(False)
    trace_source.forget()


def test_each_trace_is_reported_when_it_is_made():
    messages: list[int] = []
    trace_source.make(BERT.request, BERT.gpu, progress=lambda: messages.append(1))
    assert len(messages) == 1
    trace_source.make(BERT.request, BERT.gpu, progress=lambda: messages.append(1))
    assert len(messages) == 1  # the family is on disk
    trace_source.make(BERT.request, BERT.gpu, ("batch", 16), lambda: messages.append(1))
    assert len(messages) >= 5
    count = len(messages)
    trace_source.trace_unedited(replace(BERT.request, batch=3, seq=24), BERT.gpu)
    assert len(messages) == count  # `make` did not request these


@pytest.mark.parametrize(
    ("line", "points"),
    [
        (("batch", 16), [(37, 16), (64, 16)]),
        (("seq", 2), [(2, 24), (2, 40)]),
    ],
)
def test_a_family_along_one_size_answers_where_nothing_is_traced(
    line: Line, points: list[tuple[int, int]], tmp_path: Path
):
    asks = [replace(BERT.request, batch=batch, seq=seq) for batch, seq in points]
    fresh = [trace_source._run(ask, BERT.gpu) for ask in asks]
    trace_source.make(replace(BERT.request, batch=points[0][0], seq=points[0][1]), BERT.gpu, line)
    trace_source.forget()
    trace_source.keep_on_disk(tmp_path)
    trace_source.trace_elsewhere()
    with expecting(*((20, 1) if line[0] == "batch" else (1, 20))):
        traces = [trace_source.trace_unedited(ask, BERT.gpu) for ask in asks]
    for ours, theirs in zip(traces, fresh, strict=True):
        assert [op.signature for op in ours.ops] == [op.signature for op in theirs.ops]
        assert (ours.storages == theirs.storages) is True
