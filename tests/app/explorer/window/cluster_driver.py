"""The Cluster page in tests: its question, a predictor in place of the process, its views."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QCoreApplication, QElapsedTimer

from app.answers.cluster.answer import ClusterAnswer, answer_of
from app.answers.cluster.choice import ClusterChoice, ClusterQuestion
from app.answers.cluster.scaling import StrongQuestion, scaling_points, what_ifs
from app.answers.cluster.splits import SplitQuestion, split_ranking
from app.explorer.background.cluster_process import CancelledError, OnMessage
from app.explorer.window.window import Window
from app.views.cluster.lanes import RankTimeline
from simulator.cluster import cluster
from simulator.cluster.layout import layout
from simulator.cluster.step import NetworkStep
from simulator.parallel.predict_step import predict_network
from simulator.scenario.scenario import Scenario

SMALL = Scenario("gpt2", gpu="h200", batch=4, seq=64, dtype="bf16", training=True)
TWO = ClusterChoice("2xh200", dp=2)
FEW_LAYERS = {"layers": 2}
"""The layers that are predicted in place of gpt2's 12, in a sixth of the time. The page shows gpt2,
because a window offers packaged networks."""


def predicted(question: ClusterQuestion) -> ClusterAnswer:
    """The answer from the simulator's own functions, for a network of few layers."""
    choice, machine = question.choice, cluster(question.choice.cluster)
    spread = layout(choice.parallel, machine)
    s = few_layers(question).scenario
    step = NetworkStep(
        s.network, s.batch, s.seq, s.dtype or "fp32", bool(s.training), sizes=s.sizes
    )
    return answer_of(question, predict_network(step, spread, machine), spread)


def few_layers(question: ClusterQuestion) -> ClusterQuestion:
    return replace(question, scenario=replace(question.scenario, sizes=FEW_LAYERS))


_DONE: list[tuple[str, ClusterQuestion, Any]] = []


def once(part: str, question: ClusterQuestion, compute: Callable[[ClusterQuestion], Any]) -> Any:
    """A cached part of the answer to a question, because most tests ask the same question."""
    for known_part, known, value in _DONE:
        if (known_part, known) == (part, question):
            return value
    value = compute(question)
    _DONE.append((part, question, value))
    return value


class Predictor:
    """Answers in the worker's thread in place of the process, once `gate` is set."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.questions: list[ClusterQuestion] = []

    def ask(
        self,
        question: ClusterQuestion | StrongQuestion | SplitQuestion,
        cancelled: Callable[[], bool],
        on_message: OnMessage,
    ) -> None:
        if isinstance(question, SplitQuestion):
            self.search(question, cancelled, on_message)
            return
        if isinstance(question, StrongQuestion):
            points = scaling_points(few_layers(question.question), lambda text: None, strong=True)
            on_message("strong_points", points)
            return
        self.questions.append(question)
        on_message("progress", "tracing gpt2 on each distinct rank")
        while not self.gate.wait(0.005):
            if cancelled():
                raise CancelledError("cancelled")
        on_message("answer", once("answer", question, predicted))
        for part, compute in (("points", scaling_points), ("what_ifs", what_ifs)):
            on_message(
                part, once(part, question, lambda q, f=compute: f(few_layers(q), lambda text: None))
            )

    def search(
        self, question: SplitQuestion, cancelled: Callable[[], bool], on_message: OnMessage
    ) -> None:
        on_message("share", ("estimate dp=2 ddp", 0.25))
        while not self.gate.wait(0.005):
            if cancelled():
                raise CancelledError("cancelled")
        small = SplitQuestion(few_layers(question.question))
        on_message("splits", split_ranking(small, lambda text, share: None))


def settled(window: Window) -> None:
    """Wait until the prediction is finished, for at most a minute."""
    clock = QElapsedTimer()
    clock.start()
    clustering = window.pages.cluster.clustering
    while clustering.busy and clock.elapsed() < 60_000:
        QCoreApplication.processEvents()
        time.sleep(0.005)
    assert not clustering.busy


def view(window: Window, kind: type[Any]) -> Any:
    return next(v for _, v in window.pages.cluster.views if isinstance(v, kind))


def panel(window: Window, title: str) -> Any:
    return next(p for o, p in window.panels.panels.items() if o.title == title)


def timeline(window: Window) -> Any:
    """The rank timeline, which is created when its tab is first shown."""
    panel(window, "Rank timeline").raise_()
    QCoreApplication.processEvents()
    return view(window, RankTimeline)
