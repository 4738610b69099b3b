"""The process that predicts steps over several GPUs and, if they are not stored, traces the ranks.

It keeps its traces, so that the next question about the same network is answered at once. Between
two predictions it checks for a new question, which replaces the current one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Literal

from simulator.caches.frames import with_room
from simulator.errors import InputError, RidgepointError
from simulator.formats.trace_folder import TRACE_FOLDER
from simulator.isolated import ISOLATION

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from app.answers.cluster.choice import AnswerQuestion, ClusterQuestion
    from app.answers.cluster.scaling import StrongQuestion
    from app.answers.cluster.splits import SplitQuestion

    AnyQuestion = ClusterQuestion | AnswerQuestion | StrongQuestion | SplitQuestion

Kind = Literal[
    "progress", "answer", "points", "what_ifs", "strong_points", "share", "splits", "error", "done"
]
OnMessage = Callable[[Kind, Any], None]
_POLL_S = 0.03
_PATIENCE_S = 10.0
"""Longest time that a question waits for the previous prediction; the process is then restarted."""


class CancelledError(RidgepointError):
    """The question was cancelled."""


class ClusterProcess:
    """The process, started with the first question. One thread at a time sends a question; any
    thread may end the process. The process may still work on the last question after its thread
    stopped waiting."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._ending = threading.Lock()
        self._number = 0
        self._question: AnyQuestion | None = None
        self._child: SpawnProcess | None = None
        self._pipe: Connection | None = None

    def ask(
        self, question: AnyQuestion, cancelled: Callable[[], bool], on_message: OnMessage
    ) -> None:
        """Send the question, and pass on the messages until the answer is complete. Raises
        InputError with the reason why there is no prediction, CancelledError once `cancelled`."""
        while not self._asking.acquire(timeout=_POLL_S):
            if cancelled():
                raise CancelledError("cancelled")
        try:
            self._question = question
            self._ask(question, cancelled, on_message)
        finally:
            self._asking.release()

    def _ask(
        self, question: AnyQuestion, cancelled: Callable[[], bool], on_message: OnMessage
    ) -> None:
        fresh = self._child is None or not self._child.is_alive()
        pipe = self._start() if fresh else self._pipe
        assert pipe is not None
        self._number += 1
        number, waited_s = self._number, 0.0
        on_message(
            "progress", "starting the process" if fresh else "waiting for the previous prediction"
        )
        try:
            pipe.send((number, question))
            while True:
                if cancelled():
                    raise CancelledError("cancelled")
                if not pipe.poll(_POLL_S):
                    waited_s += _POLL_S
                    if not fresh and waited_s > _PATIENCE_S:
                        self.end()
                        self._ask(question, cancelled, on_message)
                        return
                    continue
                answered, kind, content = pipe.recv()
                if answered != number:
                    continue
                fresh = True  # the process now works on this question
                if kind == "error":
                    raise InputError(content)
                if kind == "done":
                    return
                on_message(kind, content)
        except (EOFError, OSError):
            self.end()
            if cancelled():
                raise CancelledError("cancelled") from None
            raise InputError(
                f"the process that predicts {_network(question)} on several GPUs ended "
                "unexpectedly, perhaps because memory ran out; try a smaller batch or network"
            ) from None

    def end_question(self, question: AnyQuestion) -> None:
        """End the process unless another question, such as a lesson's, has replaced this one."""
        if self._question is question:
            self.end()

    def end(self) -> None:
        """End the process and its current work."""
        with self._ending:
            child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.join(2.0)

    def _start(self) -> Connection:
        context = get_context("spawn")
        parent_end, child_end = context.Pipe()
        child = context.Process(target=_main, args=(child_end,), daemon=True)
        child.start()
        child_end.close()
        self._child, self._pipe = child, parent_end
        return parent_end


def _main(pipe: Connection) -> None:
    """Serve the pipe. Traces are stored; the code of users' networks runs in a separate process."""
    ISOLATION.begin()
    TRACE_FOLDER.keep()
    with_room(lambda: serve(pipe))


def serve(pipe: Connection) -> None:
    """Answer questions until the other end of the pipe is closed."""
    if hasattr(os, "nice"):
        os.nice(5)  # the window has priority
    try:
        while True:
            number, question = pipe.recv()

            def send(kind: Kind, content: Any, number: int = number) -> None:
                if pipe.poll():
                    raise CancelledError("replaced by a later question")
                pipe.send((number, kind, content))

            try:
                answer_all(question, send)
            except CancelledError:
                continue
            except InputError as error:
                pipe.send((number, "error", str(error)))
            except Exception as error:  # the user's network may raise anything
                words = (
                    f"{_network(question)} cannot be predicted on several GPUs: "
                    f"{type(error).__name__}: {error}; expected a network that runs; run "
                    "`ridgepoint trace` to see where it fails"
                )
                pipe.send((number, "error", words))
    except (EOFError, OSError, KeyboardInterrupt):
        return


def _network(question: AnyQuestion) -> str:
    from app.answers.cluster.choice import (
        ClusterQuestion,
    )  # imported only in the child process, as below

    question = question if isinstance(question, ClusterQuestion) else question.question
    return question.scenario.network


def answer_all(question: AnyQuestion, send: OnMessage) -> None:
    """Compute the prediction, then the scaling and the what-ifs; or one of these, or the fastest
    splits. `send` receives each result when it is complete."""
    # imported only in the child process: the window never loads the predictions of several GPUs
    from app.answers.cluster.answer import cluster_answer
    from app.answers.cluster.choice import AnswerQuestion
    from app.answers.cluster.scaling import StrongQuestion, scaling_points, what_ifs
    from app.answers.cluster.splits import SplitQuestion, split_ranking

    def progress(text: str) -> None:
        send("progress", text)

    if isinstance(question, SplitQuestion):
        send("splits", split_ranking(question, lambda doing, share: send("share", (doing, share))))
    elif isinstance(question, StrongQuestion):
        send("strong_points", scaling_points(question.question, progress, strong=True))
    elif isinstance(question, AnswerQuestion):
        send("answer", cluster_answer(question.question))
    else:
        progress(f"tracing {question.scenario.network} on each distinct rank")
        send("answer", cluster_answer(question))
        send("points", scaling_points(question, progress))
        send("what_ifs", what_ifs(question, progress))
    send("done", None)
