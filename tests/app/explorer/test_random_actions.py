"""Random actions of a user raise no error and no warning, and can be undone."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, qInstallMessageHandler
from random_user import User

from app.examples import FIRST
from app.explorer.background.cluster_process import ClusterProcess
from app.explorer.background.tracing import Tracing
from app.explorer.background.worker import Worker
from app.explorer.state.session import NamedScenario, Session, State
from app.explorer.window.window import Window
from app.widgets.drawing import application
from simulator.errors import InputError
from simulator.scenario import trace_source

START = State((NamedScenario("Today", FIRST),))
OF_NO_SCREEN = ("This plugin does not support", "propagateSizeHints")


def _not_traced(*_: object) -> None:
    raise InputError("not traced here")


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch):
    """The errors raised in slots and threads, and the warnings of Qt."""
    messages: list[str] = []

    def raised(kind: Any, error: Any, traced: Any) -> None:
        while traced is not None and traced.tb_next is not None:
            traced = traced.tb_next
        place = f"{traced.tb_frame.f_code.co_filename}:{traced.tb_lineno}" if traced else ""
        messages.append(f"{kind.__name__}: {error} at {place}")

    monkeypatch.setattr(sys, "excepthook", raised)
    monkeypatch.setattr(
        sys, "unraisablehook", lambda a: raised(a.exc_type, a.exc_value, a.exc_traceback)
    )
    monkeypatch.setattr(threading, "excepthook", lambda a: raised(*a[:3]))
    before = qInstallMessageHandler(
        lambda kind, where, words: (
            None if words.startswith(OF_NO_SCREEN) else messages.append(words)
        )
    )
    yield messages
    qInstallMessageHandler(before)


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("RIDGEPOINT_TRACES", "off")
    monkeypatch.setenv("RIDGEPOINT_STATE", str(tmp_path / "state"))
    (tmp_path / "gpus").mkdir()
    monkeypatch.setenv("RIDGEPOINT_GPUS", str(tmp_path / "gpus"))
    # tracing takes minutes and is refused: only packaged networks are predicted
    monkeypatch.setattr(
        Tracing, "request", lambda _, need, urgent, callback: callback("not traced here")
    )
    monkeypatch.setattr(ClusterProcess, "ask", _not_traced)
    running = application()
    window = Window(Session(START), Worker())
    window.resize(1280, 800)
    window.show()
    yield window
    window.close()
    window.worker.close()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    trace_source.trace_elsewhere(False)
    trace_source.forget()
    del running


SEEDS = (1, 2)


def act(window: Window, user: User, faults: list[str], times: int) -> None:
    begun = time.monotonic()
    for step in range(times):
        user.act()
        # processEvents deletes no objects; a running event loop does
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        if step % 1000 == 999:
            print(f"{step + 1} actions, {time.monotonic() - begun:.0f} s", flush=True)
        if step % 50 == 49:  # from time to time, let answers arrive
            end = time.monotonic() + 0.3
            while window.worker.busy() and time.monotonic() < end:
                QCoreApplication.processEvents()
                time.sleep(0.005)
        assert not faults, f"{faults[0]}\nafter {step + 1}, the last of them:\n" + "\n".join(
            user.done[-8:]
        )


def undone(window: Window, faults: list[str]) -> None:
    history = window.session.history
    assert history.count() > 10
    while history.canUndo():
        history.undo()
        if history.index() % 20 == 0:
            QCoreApplication.processEvents()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QCoreApplication.processEvents()
    assert not faults
    assert window.session.state == START
    assert window.inspector.batch.value == FIRST.batch
    assert window.theme.name == "dark"
    assert window.layout_.shown == "Explore"


def test_random_users() -> None:
    """Run in a separate process with one window, as the explorer does: this process has partly
    deleted windows of other tests, which would disturb the result.
    """
    inner = f"{__file__}::test_no_action_fails_and_all_can_be_undone"
    command = [sys.executable, "-m", "pytest", "-q", "-m", "slow", "-p", "no:cacheprovider", inner]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]


@pytest.mark.slow
def test_no_action_fails_and_all_can_be_undone(
    window: Window, faults: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for seed in SEEDS:  # the second user begins after the first one has undone everything
        user = User(window, seed, tmp_path, monkeypatch)
        act(window, user, faults, 150)
        undone(window, faults)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 8, 9, 10])
def test_no_action_of_ten_thousand_fails(
    window: Window, faults: list[str], seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    user = User(window, seed, tmp_path, monkeypatch)
    act(window, user, faults, 10_000)
    undone(window, faults)
