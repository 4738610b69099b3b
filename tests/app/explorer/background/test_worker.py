"""Packaged families answer without torch, stale results are dropped, and a missing trace is
requested.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from weakref import ref

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QElapsedTimer
from shiboken6 import delete

from app import examples
from app.answers.answer import batch_regimes, compute_answer
from app.explorer.background.tracing import Tracing, _Request  # pyright: ignore[reportPrivateUsage]
from app.explorer.background.worker import CLUSTER, LIVE, PLAN, SLOW, Worker
from app.time_left import running
from app.widgets.drawing import application
from simulator.caches.cancelling import check_cancelled
from simulator.errors import UntracedError
from simulator.hardware.gpu import gpu
from simulator.scenario import trace_source
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from tests.app.explorer.waiting import wait


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RIDGEPOINT_TRACES", str(tmp_path))
    running = application()
    worker = Worker()
    yield worker
    worker.close()
    trace_source.trace_elsewhere(False)
    trace_source.forget()
    del running


def test_the_first_example_is_answered_and_only_the_last_question_counts(worker: Worker):
    answers: list[object] = []
    for batch in (8, 16, 64):
        scenario = Scenario("bert-base", batch=batch, seq=128, dtype="bf16")
        worker.ask(
            "current", lambda _, s=scenario: compute_answer(s), answers.append, answers.append
        )
    wait(worker)
    assert [answer.subject.batch for answer in answers] == [64]  # pyright: ignore
    worker.ask("along", lambda _: batch_regimes(examples.FIRST, 64), answers.append, answers.append)
    wait(worker)
    assert answers[1].spans[-1][1] == 1024  # pyright: ignore


def test_a_refusal_is_returned_with_its_text(worker: Worker):
    messages: list[object] = []
    scenario = Scenario("bert-base", batch=0)
    worker.ask(
        "current",
        lambda _: compute_answer(scenario),
        messages.append,
        lambda e: messages.append(str(e)),
    )
    wait(worker)
    assert messages == ["batch is 0: expected 1 or more"]


def test_two_that_wait_for_one_trace_both_have_it(worker: Worker):
    answers: list[object] = []
    need = UntracedError(resolve(examples.FIRST).request, resolve(examples.FIRST).gpu)
    worker.tracing.request = lambda need, urgent, callback: waiting.append(callback)  # pyright: ignore
    waiting: list[Callable[[str], None]] = []
    there: list[bool] = []

    def ask(cancelled: object) -> str:
        if not there:
            raise need
        return "the trace"

    for key in ("side 0", "view Sweep"):
        worker.ask(key, ask, answers.append, answers.append)
    clock = QElapsedTimer()
    clock.start()
    while len(waiting) < 2 and clock.elapsed() < 5000:
        QCoreApplication.processEvents()
        time.sleep(0.01)
    there.append(True)
    for callback in waiting:  # one request calls both callbacks
        callback("")
    wait(worker)
    assert answers == ["the trace", "the trace"]


def test_an_unreadable_trace_is_refused(worker: Worker):
    messages: list[str] = []
    need = UntracedError(resolve(examples.FIRST).request, resolve(examples.FIRST).gpu)
    worker.tracing.request = lambda need, urgent, callback: callback("")  # pyright: ignore

    def ask(cancelled: object) -> str:
        raise need

    worker.ask("side 0", ask, lambda result: None, lambda error: messages.append(str(error)))
    wait(worker)
    assert (
        len(messages) == 1
        and "could not be written to disk: expected space in the cache" in messages[0]
    )


def test_the_oldest_of_many_refusals_are_forgotten(worker: Worker, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("app.explorer.background.worker._REFUSALS", 8)
    resolved, requested = resolve(examples.FIRST), list[int | None]()

    def refuse(need: UntracedError, urgent: bool, callback: Callable[[str], None]) -> None:
        requested.append(need.request.batch)
        callback("refused")

    worker.tracing.request = refuse  # pyright: ignore

    def ask(batch: int) -> None:
        def run(cancelled: object) -> None:
            raise UntracedError(replace(resolved.request, batch=batch), resolved.gpu)

        worker.ask("side 0", run, lambda result: None)
        wait(worker)

    for batch in (*range(1, 10), 9, 1):
        ask(batch)
    assert requested == [*range(1, 10), 1]


def test_a_cancelled_job_that_waits_for_a_trace_is_freed_without_a_search(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
):
    resolved = resolve(Scenario("bert-base", batch=8, seq=128))
    tracebacks: list[object] = []

    def request(need: UntracedError, urgent: bool, callback: object) -> None:
        tracebacks.append(need.__traceback__)

    class Array:
        """Stands for the arrays of a prediction."""

    def run(_: object) -> None:
        array = Array()
        alive.append(ref(array))
        raise UntracedError(resolved.request, resolved.gpu)

    monkeypatch.setattr(worker.tracing, "request", request)
    alive = list[ref[Array]]()
    worker.ask("current", run, lambda _: None)
    jobs = [ref(worker.jobs["current"])]
    clock = QElapsedTimer()
    clock.start()
    while not tracebacks and clock.elapsed() < 20_000:
        QCoreApplication.processEvents()
        time.sleep(0.005)
    assert tracebacks == [None] and alive[0]() is None
    worker.cancel("current")
    assert jobs[0]() is None


def test_a_program_that_ends_in_the_middle_of_a_trace_says_no_error(
    monkeypatch: pytest.MonkeyPatch,
):
    running, raised, messages = application(), list[object](), list[str]()
    monkeypatch.setattr("sys.excepthook", lambda *what: raised.append(what))
    tracing = Tracing()
    tracing.request(
        UntracedError(resolve(examples.FIRST).request, resolve(examples.FIRST).gpu),
        True,
        messages.append,
    )
    delete(tracing)  # as Qt does when the owner is deleted, including the child process
    QCoreApplication.processEvents()
    assert raised == [] and messages == []
    del running


def test_a_plan_does_not_wait_for_a_step_over_several_gpus(worker: Worker):
    """The first job ends only after the second one, in the other lane, has run."""
    planned = threading.Event()
    done: list[str] = []
    worker.ask(
        "cluster", lambda _: planned.wait(20), lambda _: done.append("cluster"), lane=CLUSTER
    )
    worker.ask("plan", lambda _: planned.set(), lambda _: done.append("plan"), lane=PLAN)
    wait(worker)
    assert planned.is_set() and sorted(done) == ["cluster", "plan"]


def test_a_page_waits_for_no_job_of_another_page(worker: Worker):
    compared, done = threading.Event(), list[str]()
    worker.ask("map", lambda _: compared.wait(20), lambda _: done.append("map"), lane="Map")
    worker.ask("fall", lambda _: compared.set(), lambda _: done.append("fall"), lane="Compare")
    wait(worker)
    assert compared.is_set() and sorted(done) == ["fall", "map"]


def test_slow_jobs_wait_until_a_page_is_painted(worker: Worker):
    ran: list[str] = []
    worker.pause_slow()
    worker.ask("view", lambda _: ran.append("view"), lambda _: None, lane=SLOW)
    time.sleep(0.1)  # no events are processed while the page is built
    assert not ran
    wait(worker)
    assert ran == ["view"]


def test_a_slow_job_that_is_replaced_during_the_pause_does_not_run(worker: Worker):
    ran: list[int] = []
    worker.pause_slow()
    worker.ask("view", lambda _: ran.append(1), lambda _: None, lane=SLOW)
    clock = QElapsedTimer()
    clock.start()
    while worker._lanes[SLOW]._waiting and clock.elapsed() < 20_000:  # pyright: ignore
        time.sleep(0.001)  # its thread takes it, and waits until the pause ends
    worker.ask("view", lambda _: ran.append(2), lambda _: None, lane=SLOW)
    wait(worker)
    assert ran == [2]


@pytest.mark.parametrize("lane", [LIVE, SLOW])
def test_a_cancelled_job_ends_at_the_next_check_within_its_work(worker: Worker, lane: str):
    began, cancelled, events = threading.Event(), threading.Event(), list[str]()

    def work(_: Callable[[], bool]) -> None:
        began.set()
        cancelled.wait(20)
        check_cancelled()
        events.append("worked on")

    worker.ask("map", work, lambda _: events.append("done"), lane=lane)
    clock = QElapsedTimer()
    clock.start()
    while not began.is_set() and clock.elapsed() < 20_000:
        QCoreApplication.processEvents()
    worker.cancel("map")
    cancelled.set()
    worker.ask("next", lambda _: "next", events.append, lane=lane)
    wait(worker)
    assert events == ["next"]


def test_parts_of_a_result_come_before_it_until_the_job_is_cancelled(worker: Worker):
    came: list[object] = []
    ended = threading.Event()

    def run(_: Callable[[], bool]) -> str:
        running().show("first half")
        running().show("second half")
        ended.wait(20)
        return "whole"

    worker.ask("map", run, came.append, lane=SLOW, on_part=came.append)
    clock = QElapsedTimer()
    clock.start()
    while len(came) < 2 and clock.elapsed() < 20_000:
        QCoreApplication.processEvents()
    assert came == ["first half", "second half"]
    ended.set()
    wait(worker)
    assert came == ["first half", "second half", "whole"]

    came.clear()
    ended.clear()
    worker.ask("map", run, came.append, lane=SLOW, on_part=came.append)
    worker.cancel("map")
    ended.set()
    worker.ask("map", lambda _: "next", came.append, lane=SLOW)
    wait(worker)
    assert came == ["next"]


def test_fitting_names_the_traces_that_it_usually_takes(worker: Worker):
    now_s = 0.0
    tracing = worker.tracing
    need = UntracedError(resolve(examples.FIRST).request, gpu("h200"), ("both", None))
    request = tracing.running = _Request(need, urgent=True)
    request.left.clock = lambda: now_s
    tracing.started_s = time.monotonic()
    for traces in range(1, 7):
        request.count(traces)
        now_s += 1.0
    # 5 steps took 1 s each; 12 of 18 are missing, and 1 s of the next one has passed
    assert tracing.sentence == (
        "fitting how the time of bert-base scales, 6 of about 18 traces, about 10 s left, 0 s"
    )
    request.count(19)
    assert tracing.sentence == "fitting how the time of bert-base scales, 19 traces, 0 s"
    line = UntracedError(need.request, gpu("h200"), ("mode", None))  # unknown number of traces
    request = tracing.running = _Request(line, urgent=True)
    request.count(1)
    assert tracing.sentence == "fitting how the time of bert-base scales, 1 trace, 0 s"
    tracing.running = None
