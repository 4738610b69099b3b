"""Packaged families answer without torch; what is stale is dropped; a missing trace is a need."""

import time
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QElapsedTimer

from app import examples
from app.answer import along_batch, answered
from app.plots.drawing import application
from app.worker import Worker
from simulator.scenario import Scenario
from simulator.whatif import tracing_ask


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RIDGEPOINT_TRACES", str(tmp_path))
    running = application()
    made = Worker()
    yield made
    made.close()
    tracing_ask.trace_elsewhere(False)
    tracing_ask.forget()
    del running


def wait(worker: Worker) -> None:
    clock = QElapsedTimer()
    clock.start()
    while worker.busy() and clock.elapsed() < 20_000:
        QCoreApplication.processEvents()
        time.sleep(0.01)  # a call in a tight loop wears None out before Python 3.12
    assert not worker.busy()


def test_the_first_example_is_answered_and_only_the_last_question_counts(worker: Worker):
    found: list[object] = []
    for batch in (8, 16, 64):
        asked = Scenario("bert-base", batch=batch, seq=128, dtype="bf16")
        worker.ask("current", lambda _, s=asked: answered(s), found.append, found.append)
    wait(worker)
    assert [answer.subject.batch for answer in found] == [64]  # pyright: ignore
    worker.ask("along", lambda _: along_batch(examples.FIRST, 64), found.append, found.append)
    wait(worker)
    assert found[1].spans[-1][1] == 1024  # pyright: ignore


def test_a_refusal_comes_back_with_its_words(worker: Worker):
    said: list[object] = []
    asked = Scenario("bert-base", batch=0)
    worker.ask("current", lambda _: answered(asked), said.append, lambda e: said.append(str(e)))
    wait(worker)
    assert said == ["batch is 0: expected 1 or more"]


def test_the_files_are_small_and_all_there():
    sizes = [path.stat().st_size for path in examples.FOLDER.glob("*.families")]
    assert len(sizes) == len(list(examples.asks()))
    assert sum(sizes) < 1.2 * 2**20
