"""Each way in which a child process ends is reported, and nothing waits for a process that has
ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Timer

import msgspec
import pytest
from msgspec.structs import replace

from simulator.hardware.gpu import gpu
from simulator.inductor.answer import Answer
from simulator.inductor.child import Child, Message
from simulator.inductor.exact import ask
from simulator.inductor.question import Question, encoded
from simulator.inductor.refusal import RefusalError
from simulator.isolated import ISOLATION
from simulator.isolated.limits import Limits

TINY = Question("mlp-tiny", gpu("h200"))
RUN = """
import sys
import simulator.inductor.__main__ as child
def answer(question, progress):
    progress("preparing a device")
    {body}
child._answer = answer
child.main()
"""


def gone(child: Child) -> bool:
    return child._process.wait(30) == -signal.SIGKILL


def child_of(body: str) -> subprocess.Popen[bytes]:
    """A child whose answer is this code; it ends when its input is closed."""
    command = [sys.executable, "-c", RUN.format(body=body), os.devnull]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write(encoded(TINY))
    child.stdin.flush()
    return child


def test_a_child_is_cancelled_while_it_imports() -> None:
    child = Child(TINY)
    Timer(0.1, child.cancel).start()
    with pytest.raises(RefusalError, match="it was cancelled"):
        child.result()
    assert gone(child)


def test_a_child_has_its_time() -> None:
    began = time.monotonic()
    with pytest.raises(RefusalError, match="it took more than 0 s"):
        Child(TINY, limit_s=0.1).result()
    assert time.monotonic() - began < 30


def test_a_child_that_is_killed() -> None:
    child = Child(TINY)
    Timer(0.1, os.kill, (child._process.pid, signal.SIGKILL)).start()
    with pytest.raises(RefusalError, match="its process was killed, possibly out of memory"):
        child.result()


def test_a_child_that_breaks() -> None:
    child = Child(TINY)
    Timer(0.1, os.kill, (child._process.pid, signal.SIGSEGV)).start()
    with pytest.raises(RefusalError, match="its process ended with signal 11"):
        child.result()


def test_who_listens_may_give_up() -> None:
    def interrupted(step: str) -> None:
        raise KeyboardInterrupt

    child = Child(TINY)
    with pytest.raises(KeyboardInterrupt):
        child.result(interrupted)
    assert gone(child)


@pytest.mark.parametrize(("body", "said"), [
    ("import torch_of_another_year",
     "is not supported: ModuleNotFoundError: No module named 'torch_of_another_year'"),
    ("sys.nowhere()",
     "is not supported: AttributeError: module 'sys' has no attribute 'nowhere'"),
])  # fmt: skip
def test_another_version_is_named(body: str, said: str) -> None:
    with child_of(body) as child:
        assert child.stdout is not None
        step, refusal = (msgspec.json.decode(x, type=Message) for x in child.stdout.readlines())
    assert step.step == "preparing a device"
    assert refusal.refused.startswith("torch 2.") and " with triton " in refusal.refused
    assert refusal.refused.endswith(f"{said}; install torch 2.11 to 2.13 with the matching triton")


def test_a_question_that_waits_is_ended_with_its_asker() -> None:
    with child_of("import time; time.sleep(60)") as child:
        assert child.stdin is not None and child.stdout is not None
        assert b"preparing" in child.stdout.readline()
        child.stdin.close()
        assert child.wait(30) == 1


def test_a_dead_child_whose_pipe_another_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\nsleep 60 &\nkill -KILL $$\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    began = time.monotonic()
    child = Child(TINY)
    with pytest.raises(RefusalError, match="its process was killed"):
        child.result()
    os.killpg(child._process.pid, signal.SIGKILL)  # the sleep
    assert time.monotonic() - began < 30


@pytest.mark.skipif(sys.platform != "linux", reason="limits are read from /proc")
def test_a_child_has_the_limits_that_it_is_given() -> None:
    child = Child(TINY, limits=Limits(file_bytes=12_345_678))
    limits, until = Path(f"/proc/{child._process.pid}/limits"), time.monotonic() + 30
    while not re.search(r"Max file size +12345678 +12345678 ", limits.read_text()):
        assert time.monotonic() < until and child._process.poll() is None
        time.sleep(0.02)
    child.cancel()
    assert gone(child)


def test_a_users_network_is_compiled_with_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Limits | None] = []

    class Refusing:
        def __init__(self, question: Question, limit_s: float, limits: Limits | None) -> None:
            given.append(limits)

        def result(self, progress: object) -> Answer:
            raise RefusalError("no")

    monkeypatch.setattr(sys.modules["simulator.inductor.exact"], "Child", Refusing)
    monkeypatch.setenv("RIDGEPOINT_TRACES", "off")
    ISOLATION.begin()
    for network in ("nets.py:Net", "mlp-tiny"):
        with pytest.raises(RefusalError):
            ask(replace(TINY, network=network), print)
    ISOLATION.end()
    with pytest.raises(RefusalError):
        ask(replace(TINY, network="nets.py:Net"), print)
    assert given == [Limits(), None, None]
