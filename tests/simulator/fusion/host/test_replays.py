"""CUDA graph trees: the captured ops, the copies before a replay, and the remaining work of the
host.
"""

from __future__ import annotations

from dataclasses import fields, replace

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from simulator import predict_trace, trace
from simulator.analysis.fusion_report import explain
from simulator.fusion import Fused, Replays
from simulator.fusion.host.compiled_host import HostCosts, ReplayCosts
from simulator.fusion.host.replay_costs import replaying
from simulator.fusion.host.replays import replayed
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.records import Trace
from simulator.schedule.launch_plan import issued
from simulator.schedule.memory import memory
from simulator.simulate.step import as_run
from simulator.simulate.traces import Step, simulated
from simulator.timing.profile import profile

REPLAY = "reduce-overhead"
H200 = gpu("h200")


class Block(nn.Module):
    """Two products with loops around them."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(64, 128), nn.Linear(128, 64)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.two(torch.tanh(self.one(x)))


class Cached(nn.Module):
    """A module that writes into one of its inputs."""

    def forward(self, x: Tensor, cache: Tensor) -> Tensor:
        cache[:, :4] = x[:, :4]
        return x + cache.sum()


class Breaks(nn.Module):
    """A network in which the size of a tensor depends on data."""

    def forward(self, x: Tensor) -> Tensor:
        rows = torch.nonzero(x[:, 0] > 0).squeeze(-1)
        return torch.tanh(x * 2)[rows] * 3


X = torch.randn(8, 64)


def traced(module: nn.Module, *args: Tensor, training: bool = False) -> Trace:
    phase = "training" if training else "inference"
    sizes = {"nonzero": 4} if isinstance(module, Breaks) else None
    return trace(module, args, phase=phase, optimizer="sgd", sizes=sizes)


def replays(step: Trace) -> tuple[Trace, Replays]:
    run = as_run(step, H200, REPLAY, profile())
    assert isinstance(run, Fused) and run.replays is not None
    return run.trace, run.replays


def test_an_inference_step_is_one_graph_behind_a_copy_of_its_input():
    step = traced(Block(), X)
    captured, plan = replays(step)
    assert plan.copies == (0,)
    assert plan.graph_of.tolist() == [-1] + [0] * (len(captured.ops) - 1)
    copy = captured.ops[0]
    assert copy.name == "aten._foreach_copy_.default"
    assert [t.nbytes for t in copy.inputs] == [8 * 64 * 4] * 2
    place, input_storage = copy.storages
    assert step.storages[input_storage].role == "input"
    readers = [op for op in captured.ops[1:] if input_storage in op.storages]
    assert not readers  # captured kernels read the graph's own input buffer
    assert any(place in op.storages for op in captured.ops[1:])
    last = max(index for index, op in enumerate(captured.ops) if place in op.storages)
    assert (captured.storages[place].born, captured.storages[place].freed) == (0, last + 1)
    compiled = predict_trace(step, mode="compiled")
    p = predict_trace(step, mode=REPLAY)
    assert p.kernel_count == compiled.kernel_count + 1
    grown = p.peak_memory_bytes - compiled.peak_memory_bytes
    assert grown == 8 * 64 * 4


def test_the_host_pays_the_call_the_copy_and_one_replay():
    step = traced(Block(), X)
    captured, plan = replays(step)
    driver = host()
    free = dict.fromkeys((field.name for field in fields(HostCosts)), 0.0)
    costs = replace(
        HostCosts(**free),
        call_s=100e-6,
        input_s=1e-6,
        weight_s=2e-6,
        triton_s=50e-6,
        reference_op_s=driver.seconds["op"],
    )
    launched, clock = replaying(
        issued(captured, H200), plan, driver, profile(), costs, ReplayCosts(10e-6, 1e-7, 0.0, 0.0)
    )
    # 100 for the call, 1 for an input, 2 for each of four weights; the copy is an op and a launch
    first = 109e-6 + driver.seconds["op"] + driver.launch_s
    assert launched.host_s[0] == pytest.approx(first)
    # a replay takes the launch, 10 µs for the graph and 0.1 µs for its input
    assert launched.host_s[1] == pytest.approx(profile().graph_launch_s + 10e-6 + 1e-7)
    assert launched.host_s[2:].tolist() == [0.0] * (len(launched.host_s) - 2)
    # the copy and the graph's first node take a place in the queue, as kernels do
    count = len(launched.host_s)
    within = profile().graph_gap_s * (count - 2)
    assert clock.gap_s * count == pytest.approx(2 * profile().gap_s + within)


def test_a_training_step_replays_each_pass_and_steps_eagerly():
    step = traced(Block(), X, training=True)
    captured, plan = replays(step)
    phases = [op.phase for op in captured.ops]
    by_phase = {
        phase: {p for p, each in zip(plan.graph_of.tolist(), phases, strict=True) if each == phase}
        for phase in ("forward", "backward", "optimizer")
    }
    assert by_phase == {"forward": {-1, 0}, "backward": {-1, 1}, "optimizer": {-1}}
    assert [phases[place] for place in plan.copies] == ["forward", "backward"]
    loss = captured.ops[plan.copies[1]]
    assert [t.nbytes for t in loss.inputs] == [4, 4]  # the initial gradient of the backward pass
    alone = [
        op.name
        for op, p in zip(captured.ops, plan.graph_of.tolist(), strict=True)
        if p < 0 and op.phase == "backward"
    ]
    assert alone == ["aten.ones_like.default", "aten._foreach_copy_.default"]
    compiled, p = (predict_trace(step, mode=mode) for mode in ("compiled", REPLAY))
    assert p.host_s < compiled.host_s
    assert p.period_s < compiled.period_s


def test_a_step_that_writes_into_an_input_is_not_captured_with_a_note():
    step = traced(Cached(), X, torch.randn(8, 64))
    _, plan = replays(step)
    assert set(plan.graph_of.tolist()) == {-1} and plan.copies == ()
    compiled, p = (predict_trace(step, mode=mode) for mode in ("compiled", REPLAY))
    assert p.period_s == compiled.period_s
    assert any(
        note.startswith("no CUDA graph: the step writes into 1 of its inputs") for note in p.notes
    )


def test_graphs_are_cut_where_the_size_depends_on_data():
    captured, plan = replays(traced(Breaks(), X))
    apart = [op.name for op, p in zip(captured.ops, plan.graph_of.tolist(), strict=True) if p < 0]
    copy = "aten._foreach_copy_.default"
    # the result of nonzero has no fixed address
    assert apart == [copy, "aten.nonzero.default", copy]
    assert plan.graph_of.max() == 1
    assert plan.notes == (
        "a graph is captured for each data-dependent size: predicted as if the graph of this "
        "size had already been captured",
    )


def test_replaying_twice_is_replaying_once():
    run = as_run(traced(Block(), X), H200, REPLAY, profile())
    assert isinstance(run, Fused)
    assert replayed(run) is run
    assert as_run(run, H200, REPLAY, profile()) is run


def test_simulated_steps_equal_the_prediction():
    step = traced(Block(), X, training=True)
    p = predict_trace(step, mode=REPLAY)
    table, refused = simulated([Step(step, H200, host(), profile(), REPLAY)])
    assert not refused
    assert table[0, 0] == pytest.approx(p.period_s, rel=1e-12)
    assert table[0, 3] == pytest.approx(p.host_s, rel=1e-12)


def test_fusions_are_explained_despite_the_copies():
    step = traced(Block(), X, training=True)
    plain, graphed = (explain(predict_trace(step, mode=mode)) for mode in ("compiled", REPLAY))
    assert [m.ops for m in graphed.merged] == [m.ops for m in plain.merged]
    assert sum(m.launches for m in graphed.merged) == sum(m.launches for m in plain.merged)


def test_a_graph_waits_for_no_room_in_the_queue():
    step = traced(Block(), X)
    captured, plan = replays(step)
    short = msgspec.structs.replace(host(), depth=1)
    launched, clock = replaying(issued(captured, H200), plan, short, profile())
    assert clock.depth > 1 << 20
    assert np.all(launched.host_s >= 0)


def test_eager_temporaries_need_memory_beside_the_graphs_pool():
    """Eager temporaries of the optimizer need memory in addition to the pool, and do not reuse that
    of the activations.
    """
    step = traced(Block(), X, training=True)
    captured, plan = replays(step)
    pooled = plan.pooled
    roles = {captured.storages[n].role for n in pooled}
    assert roles == {"activation", "gradient"}

    def most(numbers: set[int]) -> int:
        held = [captured.storages[n] for n in numbers if captured.storages[n].device == "cuda"]
        count = len(captured.ops)
        return max(
            sum(
                -(-s.nbytes // 512) * 512
                for s in held
                if max(s.born, 0) <= at and (s.freed is None or s.freed > at or s.freed == count)
            )
            for at in range(count)
        )

    others = set(range(len(captured.storages))) - set(pooled)
    assert memory(captured, pooled).peak_bytes == most(set(pooled)) + most(others)
    assert memory(captured, pooled).peak_bytes > most(set(range(len(captured.storages))))
    assert sum(memory(captured, pooled).at_peak.values()) == memory(captured, pooled).peak_bytes
