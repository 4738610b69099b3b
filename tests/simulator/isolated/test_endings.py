"""The ways in which the process of a user's code can end, and the reported reasons."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from threading import Thread

import pytest

from simulator.errors import InputError
from simulator.isolated import messages
from simulator.isolated.endings import ending
from simulator.isolated.limits import Limits
from simulator.isolated.messages import Answered, Printed
from simulator.isolated.process import IsolatedProcess
from simulator.networks.loading.loaded import Facts
from simulator.networks.loading.watching import WATCH, Watch

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")


def test_a_killed_child_is_reported() -> None:
    assert ending("a/nets.py:Net", -signal.SIGKILL, "") == (
        "the process that traced nets.py:Net was killed, perhaps because memory ran out: expected "
        "a network that the machine can hold; give smaller sizes"
    )


WATCHED = """
from simulator.networks.loading.watching import watched
with watched("tracing nets.py:Net", lambda frame: "nets.py:3"):
    {}
"""


def refusal(child: IsolatedProcess, code: str) -> str:
    """The error of code that runs in the child without torch."""
    with pytest.raises(InputError) as caught:
        child.facts("nets.py:Net", partial(exec, code))  # pyright: ignore[reportArgumentType]
    return str(caught.value)


@pytest.fixture
def without_torch() -> Iterator[IsolatedProcess]:
    process = IsolatedProcess(Limits())
    yield process
    process.close()


@pytest.fixture
def a_second() -> Iterator[None]:
    token = WATCH.set(Watch(1.0))
    yield
    WATCH.reset(token)


@pytest.mark.usefixtures("a_second")
def test_a_process_ends_after_a_time_limit(without_torch: IsolatedProcess) -> None:
    """The limit may have stopped an import, which leaves half a module behind."""
    assert "took more than 1 s; it was at nets.py:3:" in refusal(
        without_torch, WATCHED.format("while True: pass")
    )
    assert without_torch._child is None
    assert without_torch.facts("nets.py:Net", partial(Facts, "net")) == Facts("net")


def test_a_limit_applies_only_to_its_job(without_torch: IsolatedProcess) -> None:
    token = WATCH.set(Watch(1.0))
    without_torch.facts("nets.py:Net", partial(Facts, "net"))
    WATCH.reset(token)
    error = refusal(without_torch, WATCHED.format("import time; time.sleep(1.2); 1 / 0"))
    assert "ended with status 1: expected code that returns" in error


def test_code_that_raises_keyboard_interrupt_is_refused_and_is_no_ctrl_c(
    without_torch: IsolatedProcess, capfd: pytest.CaptureFixture[str]
) -> None:
    assert refusal(without_torch, "x = 1\nraise KeyboardInterrupt") == (
        "the network's code raised KeyboardInterrupt (<string>, line 2); correct the network"
    )
    assert without_torch.facts("nets.py:Net", partial(Facts, "net")) == Facts("net")
    assert "Traceback" not in "".join(capfd.readouterr())


@pytest.mark.usefixtures("a_second")
def test_code_that_holds_off_the_signal_of_its_limit_is_killed(
    without_torch: IsolatedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulator.isolated.process._GRACE_S", 1.0)
    blocks = "import signal; signal.pthread_sigmask(0, [signal.SIGALRM])\n    while True: pass"
    assert refusal(without_torch, WATCHED.format(blocks)) == (
        "tracing nets.py:Net took more than 1 s and blocked the signal that stops it; its process "
        "was killed: expected the code to end by then; correct the network, give smaller sizes, "
        "or allow more with --time-limit"
    )


@pytest.mark.parametrize("text", [b"width: 8 ", bytes(7) + b"\1" + b"\xc1"])
def test_code_that_writes_into_the_pipe_of_the_answers_is_killed(
    without_torch: IsolatedProcess, text: bytes
) -> None:
    """Two invalid writes: a length that no message has, and an invalid message."""
    writes = f"""
import os
for number in range(3, 64):
    try: os.write(number, {text!r})
    except OSError: pass
while True: pass
"""
    assert refusal(without_torch, writes) == (
        "the process that traced nets.py:Net wrote to the pipe that returns its trace, and was "
        "killed: expected writes to standard output and to the network's own files only; correct "
        "the network, or run it with --no-sandbox, where a debugger can follow it"
    )


def test_a_child_that_something_else_killed_may_have_taken_too_much_memory(
    without_torch: IsolatedProcess,
) -> None:
    assert refusal(without_torch, "import os; os.kill(os.getpid(), 9)").startswith(
        "the process that traced nets.py:Net was killed, perhaps because memory ran out: "
    )


def test_a_message_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MOST_BYTES", 1000)
    assert messages.decoded(messages.encoded(Printed("a" * 900))[8:]) == Printed("a" * 900)
    with pytest.raises(InputError) as caught:
        messages.encoded(Answered(Facts("net"), b"a" * 1000))
    assert re.sub(r"[\d,]{5}", "N", str(caught.value)) == (
        "the trace has N bytes: expected at most N, the limit of a separate process; "
        "give fewer layers, or run it with --no-sandbox"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone ends it with its parent")
def test_the_child_outlives_the_thread_that_asked_first() -> None:
    """Linux kills a child when the thread that started it ends."""
    process = IsolatedProcess(Limits())
    asking = Thread(target=lambda: process.facts("nets.py", partial(Facts, "net")))
    asking.start()
    asking.join()
    time.sleep(0.2)
    child = process._child
    assert child is not None and child.poll() is None
    assert process.facts("nets.py", partial(Facts, "net")) == Facts("net")
    process.close()


def test_the_end_of_the_process_closes_one_child(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[object] = []
    monkeypatch.setattr("atexit.register", registered.append)
    monkeypatch.setattr("atexit.unregister", registered.remove)
    process = IsolatedProcess(Limits())
    for _ in range(2):
        process.facts("nets.py", partial(Facts, "net"))
        assert registered == [process.close]
        process.close()
        assert registered == []
