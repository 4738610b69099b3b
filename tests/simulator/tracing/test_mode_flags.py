"""The answers that a network receives when it queries the mode in which it runs."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any, get_args

import pytest
import torch
from torch import Tensor, nn
from torch.compiler import is_compiling  # imported by name, as in many networks

from simulator.modes import MODES, Run, run_of
from simulator.tracing import trace

FLAGS: dict[str, Callable[[], Any]] = {
    "by name": lambda: is_compiling(),
    "is_compiling": lambda: torch.compiler.is_compiling(),
    "is_dynamo_compiling": lambda: torch.compiler.is_dynamo_compiling(),
    "_dynamo": lambda: torch._dynamo.is_compiling(),  # pyright: ignore
    "_utils": lambda: torch._utils.is_compiling(),  # pyright: ignore
    "capturing": lambda: torch.cuda.is_current_stream_capturing(),
    "is_tracing": lambda: torch.jit.is_tracing(),  # pyright: ignore
}
COMPILING = {"by name", "is_compiling", "is_dynamo_compiling", "_dynamo", "_utils"}
TRUE: dict[Run, set[str]] = {"eager": set(), "captured": {"capturing"}, "compiled": COMPILING}


class Asking(nn.Module):
    """Records the answers that it receives, in its own thread and `elsewhere` in another."""

    def __init__(self, elsewhere: bool = True) -> None:
        super().__init__()
        self.elsewhere = elsewhere
        self.answers: list[tuple[set[str], set[str]]] = []

    def __deepcopy__(self, memo: object) -> Asking:
        return self

    def forward(self, x: Tensor) -> Tensor:
        elsewhere: list[set[str]] = [set()]
        if self.elsewhere:
            worker = Thread(target=lambda: elsewhere.append(answers()))
            worker.start()
            worker.join()
        self.answers.append((answers(), elsewhere[-1]))
        return x + 1


def answers() -> set[str]:
    return {name for name, asked in FLAGS.items() if asked()}


@pytest.mark.parametrize("run", get_args(Run))
def test_the_flags_answer_as_the_run_does(run: Run) -> None:
    net = Asking()
    traced = trace(net, (torch.zeros(2),), run=run)
    # a worker thread is neither captured nor compiled; the first step of a process is traced twice
    assert net.answers and all(each == (TRUE[run], set()) for each in net.answers)
    assert traced.run == run
    assert "torch.compiler.is_compiling" in traced.asked
    assert "torch.cuda.is_current_stream_capturing" in traced.asked
    assert answers_outside() == set()


def answers_outside() -> set[str]:
    """Without `capturing`, which cannot be queried outside a trace in a build without CUDA."""
    return {name for name, asked in FLAGS.items() if name != "capturing" and asked()}


def test_torchs_own_queries_are_not_recorded() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Dropout())
    step = trace(net, (torch.zeros(2, 4),), phase="training", run="compiled")
    assert step.asked == []


def test_host_counts_do_not_depend_on_the_run() -> None:
    # to wait for a thread takes more calls if it starts late
    traces = [trace(Asking(elsewhere=False), (torch.zeros(2),), run=run) for run in get_args(Run)]
    counts = [[op.python_calls for op in each.ops] for each in traces]
    assert counts[0] == counts[1] == counts[2]


def test_runs_of_modes() -> None:
    assert [run_of(mode) for mode in MODES] == ["eager", "captured", *["compiled"] * 4]
    assert run_of("cuda_graph", fused=True) == "compiled"  # a compiled step replays its own graph


def test_a_query_in_another_thread_is_noted() -> None:
    noted = {a.name: a.taken for a in trace(Asking(), (torch.zeros(2),)).assumptions}
    assert noted["torch.compiler.is_compiling"] == (
        "false, as in every mode, in a thread other than the step's; query the mode in the thread "
        "that calls the network"
    )
    twice = trace(nn.Sequential(Asking(), Asking()), (torch.zeros(2),)).assumptions
    assert [a.name for a in twice] == [*noted]  # once each, although an op is between the queries
    assert trace(Asking(elsewhere=False), (torch.zeros(2),)).assumptions == []
