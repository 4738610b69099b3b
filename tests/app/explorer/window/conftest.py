"""A window that the tests of a module share."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication

from app.answers.cluster.choice import ClusterQuestion
from app.answers.cluster.page import Clustered
from app.answers.plan.draft import of_table
from app.examples import FIRST
from app.explorer.background.cluster_process import OnMessage
from app.explorer.background.clustering import question_of
from app.explorer.background.worker import Worker
from app.explorer.state.session import NamedScenario, Session, State
from app.explorer.window.window import Window
from app.widgets.drawing import application
from simulator.scenario import trace_source
from tests.app.cluster_answers import CLUSTERED
from tests.app.explorer.waiting import wait
from tests.app.explorer.window import cluster_driver, plan_driver

SMALL_PLAN: dict[str, Any] = {
    "workload": {"kind": "serving", "network": "llama3-8b", "prompt": 64, "output": 8},
    "load": {"rate": "5/s"},
    "limits": {"per_token": "50 ms"},
    "candidates": {"gpus": ["h200", "l40s"], "counts": [1], "engines": ["vllm"]},
    "simulation": {"requests": 200},
}
INITIAL = State((NamedScenario("Today", FIRST),), plan=of_table(SMALL_PLAN).text)


def answered(
    question: ClusterQuestion, cancelled: Callable[[], bool], on_message: OnMessage
) -> None:
    """An invented answer in place of the process that predicts several GPUs."""
    on_message("answer", CLUSTERED.answer)
    on_message("points", CLUSTERED.points)
    on_message("what_ifs", CLUSTERED.what_ifs)


@pytest.fixture(scope="module")
def _shared_window(tmp_path_factory: pytest.TempPathFactory):
    patch = pytest.MonkeyPatch()
    patch.setenv("RIDGEPOINT_TRACES", str(tmp_path_factory.mktemp("traces")))
    patch.setenv("RIDGEPOINT_STATE", str(tmp_path_factory.mktemp("state")))
    running = application()
    shared = Window(Session(INITIAL), Worker())
    patch.setattr(shared.pages.cluster.clustering, "_ask", answered)
    shared.resize(1280, 800)
    shared.show()
    shared.beside[1].hide()  # a hidden inspector searches for no advice
    wait(shared.worker)
    yield shared
    shared.close()
    shared.worker.close()
    trace_source.trace_elsewhere(False)
    trace_source.forget()
    patch.undo()
    del running


@pytest.fixture
def window(_shared_window: Window):
    """A window on `FIRST`, reset after each test."""
    window = _shared_window
    yield window
    window.session.reset(INITIAL)
    wait(window.worker)


@pytest.fixture
def predictor(window: Window, monkeypatch: pytest.MonkeyPatch):
    """The window with a small step over two GPUs, predicted in this process."""
    predictor = cluster_driver.Predictor()
    monkeypatch.setattr(window.pages.cluster.clustering, "_ask", predictor.ask)
    side = replace(INITIAL.sides[0], scenario=cluster_driver.SMALL)
    window.session.reset(replace(INITIAL, sides=(side,), cluster=cluster_driver.TWO))
    clustering = window.pages.cluster.clustering
    # it would hold the question of an earlier test
    clustering.clustered = Clustered(question_of(window.session.state))
    window.session.show("Cluster")
    QCoreApplication.processEvents()
    cluster_driver.settled(window)
    wait(window.worker)
    yield predictor
    predictor.gate.set()
    window.session.show("Explore")


@pytest.fixture
def planned(window: Window):
    """The window with a small, finished plan."""
    window.session.set_plan(of_table(SMALL_PLAN).text, "small plan")
    window.session.show("Plan")
    QCoreApplication.processEvents()
    plan_driver.settled(window.pages.plan.planning)
    yield window
    window.session.show("Explore")
