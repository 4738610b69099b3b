"""Code that does not end is stopped, and the error names its current line."""

from __future__ import annotations

import os
import time
from contextvars import Context
from pathlib import Path

import pytest

from simulator.errors import InputError
from simulator.networks.loading.load import load
from simulator.networks.loading.watching import WATCH, Watch, watched
from simulator.tracing.python_code.user_code import place_of

CODE = """
import os, time, torch

class Endless(torch.nn.Linear):
    def __init__(self):
        super().__init__(4, 4)
    def forward(self, x):
        while True:
            try:
                x.size()
            except Exception:
                pass

def endless():
    return Endless(), (torch.empty(2, 4),)

def sleeps():
    time.sleep(60)

def ends():
    os._exit(0)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "nets.py"
    path.write_text(CODE, "utf-8")
    return path


def stopped(place: Path, name: str) -> tuple[str, list[str]]:
    from simulator.tracing import trace

    messages: list[str] = []
    token = WATCH.set(Watch(1.0, messages.append))
    try:
        with pytest.raises(InputError) as caught, watched("it", place_of):
            loaded = load(f"{place}:{name}")
            trace(loaded.module, loaded.args)
    finally:
        WATCH.reset(token)
    return str(caught.value), messages


@pytest.mark.parametrize(("name", "line"), [("endless", r"(9|10|11|12)"), ("sleeps", "18")])
def test_slow_code_is_stopped_with_its_line(place: Path, name: str, line: str) -> None:
    trace_imports()
    text, messages = stopped(place, name)
    remedy = (
        "expected the code to end by then; correct the network, give smaller sizes, or allow "
        "more with --time-limit"
    )
    assert text.startswith("it took more than 1 s; it was at nets.py:") and text.endswith(remedy)
    assert messages[0].startswith("it (1 s, at nets.py:")


def trace_imports() -> None:
    """Trace once beforehand, because the imports of the first trace in a process take a second."""
    import torch

    from simulator.tracing import trace

    trace(torch.nn.Linear(2, 2), (torch.empty(2, 2),))


def test_a_file_that_ends_the_process_is_an_error(place: Path) -> None:
    before = os._exit
    with pytest.raises(InputError) as caught, watched("it", place_of):
        load(f"{place}:ends")
    assert str(caught.value) == (
        "nets.py:ends raised SystemExit on line 21: it called os._exit(0), which ends the process; "
        "correct the file"
    )
    assert os._exit is before


def test_ctrl_c_stays_ctrl_c() -> None:
    token = WATCH.set(Watch(60.0))
    try:
        with pytest.raises(KeyboardInterrupt), watched("it", place_of):
            raise KeyboardInterrupt
    finally:
        WATCH.reset(token)


def test_without_a_watch_nothing_is_stopped() -> None:
    def unwatched() -> None:
        assert WATCH.get() is None
        with watched("it", place_of):
            time.sleep(0)

    Context().run(unwatched)  # an earlier command of this process has set a watch
