"""A user's network in a child process: the answers are the same, and if the child ends, no other
process does."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from simulator.errors import InputError
from simulator.formats.trace_file import encoded
from simulator.hardware.gpu import gpu
from simulator.isolated.isolation import Isolation
from simulator.isolated.limits import Limits
from simulator.isolated.process import IsolatedProcess
from simulator.networks.loading.loaded import Facts
from simulator.networks.loading.watching import WATCH, Watch
from simulator.records import Trace
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.trace_module import trace_module
from simulator.scenario.trace_source import module_facts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
ROOT = Path(__file__).parents[3]
NETS = """
import ctypes, os, socket, sys, torch
from torch import nn

class Plain(nn.Module):
    def __init__(self, port: int = 0):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.port = port
    def example_inputs(self, batch=2):
        return (torch.empty(batch, 8),)
    def forward(self, x):
        self.act()
        return self.layer(x)
    def act(self): pass

class Prints(Plain):
    def act(self): print("width", 8); print("careful", file=sys.stderr)
class Raises(Plain):
    def act(self): raise ValueError("no")
class Exits(Plain):
    def act(self): os._exit(3)
class Leaves(Plain):
    def act(self): sys.exit("enough")
class NoInputs(nn.Linear):
    def __init__(self): super().__init__(2, 2)
class Loops(Plain):
    def act(self):
        while True: pass
class Allocates(Plain):
    def act(self): torch.ones(2**30, device="cpu")
class Writes(Plain):
    def act(self):
        with open("large", "wb") as file: file.truncate(2**21)
class Connects(Plain):
    def act(self): socket.create_connection(("127.0.0.1", self.port), 5)
class TalksToItself(Plain):
    def act(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), 5).close()
class Crashes(Plain):
    def act(self): ctypes.string_at(0)
class Ends(Plain):
    def act(self): ctypes.CDLL(None)._exit(0)
"""
CARD = gpu("h200")


def request(network: str, sizes: tuple[tuple[str, int], ...] = ()) -> TraceRequest:
    return TraceRequest(f"nets.py:{network}", 4, None, "fp32", False, None, sizes, ())


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IsolatedProcess]:
    folder, before = tmp_path_factory.mktemp("nets"), Path.cwd()
    (folder / "nets.py").write_text(NETS, "utf-8")
    os.chdir(folder)
    process = IsolatedProcess(Limits(memory_bytes=3 * 2**30, file_bytes=2**20))
    yield process
    process.close()
    os.chdir(before)


def traced(child: IsolatedProcess, asked: TraceRequest) -> tuple[Trace, Facts]:
    return child.trace(asked.network, partial(trace_module, asked, CARD))


def error(child: IsolatedProcess, network: str) -> str:
    with pytest.raises(InputError) as caught:
        traced(child, request(network))
    return str(caught.value)


def test_the_trace_and_the_facts_are_those_of_this_process(child: IsolatedProcess) -> None:
    trace, facts = traced(child, request("Plain"))
    here, facts_here = trace_module(request("Plain"), CARD)
    assert encoded(trace) == encoded(here) and facts == facts_here
    assert child.facts("nets.py:Plain", partial(module_facts, request("Plain"))) == facts_here


@pytest.mark.parametrize("network", ["Raises", "Exits", "Leaves", "NoInputs", "Absent"])
def test_an_error_is_that_of_this_process(child: IsolatedProcess, network: str) -> None:
    with pytest.raises(InputError) as caught:
        trace_module(request(network), CARD)
    assert error(child, network) == str(caught.value)


def test_prints_go_to_standard_error(
    child: IsolatedProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    traced(child, request("Prints"))
    assert capsys.readouterr() == ("", "width 8\ncareful\n")


def test_a_loop_ends_at_the_time_limit(child: IsolatedProcess) -> None:
    messages: list[str] = []
    token = WATCH.set(Watch(1.0, messages.append))
    try:
        assert error(child, "Loops") == (
            "tracing nets.py:Loops took more than 1 s; it was at nets.py:29: expected the code to "
            "end by then; correct the network, give smaller sizes, or allow more with --time-limit"
        )
    finally:
        WATCH.reset(token)
    assert messages == ["tracing nets.py:Loops (1 s, at nets.py:29)"]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone limits it")
def test_memory_is_limited(child: IsolatedProcess) -> None:
    assert "you tried to allocate 4294967296 bytes" in error(child, "Allocates")


def test_files_are_limited(child: IsolatedProcess) -> None:
    assert error(child, "Writes") == (
        "Writes.forward failed on inputs (float32[4, 8]): OSError: [Errno 27] File too large "
        "(nets.py, line 34); correct the network or its inputs; Ridgepoint runs tensors without "
        "data"
    )


@pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0, reason="root may always leave the namespace"
)
def test_it_reaches_no_port_of_this_machine_but_its_own(child: IsolatedProcess) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(InputError, match="ConnectionRefusedError"):
            traced(child, request("Connects", (("port", port),)))
    traced(child, request("TalksToItself"))


def test_a_crash_ends_the_child_alone_and_the_next_one_answers(child: IsolatedProcess) -> None:
    assert error(child, "Crashes") == (
        "the process that traced nets.py:Crashes crashed with SIGSEGV at nets.py:42: expected code "
        "that returns; correct the network, or run it with --no-sandbox, where a debugger can "
        "follow it"
    )
    assert error(child, "Ends") == (
        "the process that traced nets.py:Ends ended with status 0: expected code that returns and "
        "does not end its process; correct the network, or run it with --no-sandbox, where a "
        "debugger can follow it"
    )


def test_the_catalogue_and_programs_of_a_user_stay_in_this_process() -> None:
    isolation = Isolation()
    assert isolation.process_for("nets.py:Net") is None
    isolation.begin()
    assert isolation.process_for("bert-base") is isolation.process_for("timm:resnet50") is None
    one = isolation.process_for("nets.py:Net")
    assert one is not None and isolation.process_for("others.py") is one
    isolation.end()
    assert isolation.process_for("nets.py:Net") is None


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_the_child_ends_with_the_command(tmp_path: Path, number: int, status: int) -> None:
    marker = tmp_path / "pid"
    code = NETS.replace(
        "while True: pass",
        f"open({str(marker)!r}, 'w').write(str(os.getpid()))\n        while True: pass",
    )
    (tmp_path / "nets.py").write_text(code, "utf-8")
    command = subprocess.Popen(
        [sys.executable, "-m", "app.cli", "predict", f"{tmp_path / 'nets.py'}:Loops"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        env={**os.environ, "RIDGEPOINT_TRACES": "off"},
    )
    while not (marker.exists() and marker.read_text()):
        assert command.poll() is None
        time.sleep(0.05)
    command.send_signal(number)
    _, errors = command.communicate(timeout=60)
    assert (command.returncode, errors) == (status, b"")
    for _ in range(200):  # the system ends it a moment later
        if not _runs(int(marker.read_text())):
            return
        time.sleep(0.05)
    raise AssertionError("the child runs on")


def _runs(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text("utf-8")
    except OSError:
        return False
