"""The process that predicts several GPUs, replaced by a thread with invented answers."""

import threading
from collections.abc import Callable
from multiprocessing import Pipe
from typing import Any

import pytest

from app.answers.cluster.choice import AnswerQuestion
from app.explorer.background import cluster_process
from app.explorer.background.cluster_process import ClusterProcess, OnMessage, serve
from simulator.errors import InputError
from tests.app.cluster_answers import QUESTION


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch):
    """Starts a server with an `answer_all` function; returns this end of its pipe."""
    ends: list[Any] = []

    def start(answer_all: Callable[[object, OnMessage], None]) -> Any:
        monkeypatch.setattr(cluster_process, "answer_all", answer_all)
        monkeypatch.setattr(cluster_process.os, "nice", lambda _: 0)
        parent_end, child_end = Pipe()
        thread = threading.Thread(target=serve, args=(child_end,))
        thread.start()
        ends.extend((parent_end, thread))
        return parent_end

    yield start
    parent_end, thread = ends
    parent_end.close()
    thread.join(5)
    assert not thread.is_alive()


def test_another_question_replaces_the_running_one(served: Any):
    at_work, second_asked = threading.Event(), threading.Event()

    def answer_all(question: object, send: OnMessage) -> None:
        if not second_asked.is_set():
            at_work.set()
            second_asked.wait(5)
        send("answer", "figures")
        send("done", None)

    pipe = served(answer_all)
    pipe.send((1, QUESTION))
    assert at_work.wait(5)
    pipe.send((2, QUESTION))
    second_asked.set()
    assert pipe.poll(5) and pipe.recv() == (2, "answer", "figures")
    assert pipe.recv() == (2, "done", None)


def test_errors_are_returned_as_text(served: Any):
    errors: list[Exception] = [InputError("gpt2 does not divide"), ValueError("its own")]

    def answer_all(question: object, send: OnMessage) -> None:
        raise errors.pop(0)

    pipe = served(answer_all)
    pipe.send((1, QUESTION))
    assert pipe.poll(5) and pipe.recv() == (1, "error", "gpt2 does not divide")
    pipe.send((2, QUESTION))
    assert pipe.poll(5) and pipe.recv() == (
        2,
        "error",
        "gpt2 cannot be predicted on several GPUs: ValueError: its own; expected a network that "
        "runs; run `ridgepoint trace` to see where it fails",
    )


class Child:
    """A process that counts how often it is killed."""

    kills = 0

    def is_alive(self) -> bool:
        return self.kills == 0

    def kill(self) -> None:
        self.kills += 1

    def join(self, timeout: float) -> None:
        pass


def test_only_cancelling_the_running_question_ends_the_process(monkeypatch: pytest.MonkeyPatch):
    """The page's question is cancelled while a lesson's question is computed: the lesson gets its
    answer.
    """
    child, process, (parent_end, child_end) = Child(), ClusterProcess(), Pipe()
    lesson, answers = AnswerQuestion(QUESTION), list[Any]()

    def start() -> Any:
        monkeypatch.setattr(process, "_child", child)
        return parent_end

    monkeypatch.setattr(process, "_start", start)
    asking = threading.Thread(
        target=process.ask, args=(lesson, lambda: False, lambda *message: answers.append(message))
    )
    asking.start()
    assert child_end.poll(5) and child_end.recv() == (1, lesson)
    process.end_question(QUESTION)
    child_end.send((1, "answer", "figures"))
    child_end.send((1, "done", None))
    asking.join(5)
    assert (
        answers == [("progress", "starting the process"), ("answer", "figures")] and not child.kills
    )
    process.end_question(lesson)
    assert child.kills == 1
