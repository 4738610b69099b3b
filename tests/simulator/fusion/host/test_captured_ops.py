"""Which ops a CUDA graph captures, and the host's work where no graph launches a kernel."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from simulator import trace
from simulator.fusion.fused import Replays
from simulator.fusion.host.compiled_host import HostCosts, ReplayCosts
from simulator.fusion.host.replay_costs import _heads, _tensor_counts, replaying
from simulator.fusion.host.replays import _pooled, _shape, _uncaptured
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.records import Op, Signature, Storage, Trace
from simulator.records import Tensor as Shape
from simulator.schedule.launch_plan import issued
from simulator.timing.profile import profile
from tests.simulator.conftest import Calls

ROW = Shape((4,), "float32", (1,))
HOST_ROW, HOST_SCALAR = Shape((4,), "float32", (1,), "cpu"), Shape((), "float32", (), "cpu")


def op(name: str, inputs: tuple[Shape, ...], out: Shape, phase: Any = "forward", **args: Any) -> Op:
    names = ("self", "other")[: len(inputs)]
    signature = Signature(f"aten.{name}", inputs, (out,), names, args)
    return Op(signature, "", phase, tuple(range(len(inputs) + 1)))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (op("add.Tensor", (ROW, ROW), ROW), ""),
        (op("add.Tensor", (ROW, HOST_SCALAR), ROW), ""),  # an argument of the kernel
        (op("add.Tensor", (ROW, HOST_ROW), ROW), "the CPU works"),
        (op("exp.default", (HOST_SCALAR,), HOST_SCALAR), "the CPU works"),
        (op("ones_like.default", (ROW,), ROW), ""),
        (op("ones_like.default", (ROW,), ROW, "backward"), "autograd"),
        (op("zeros_like.default", (ROW,), ROW, tangent=True), "autograd"),
        (op("zeros_like.default", (ROW,), ROW), ""),
        (op("_local_scalar_dense.default", (ROW,), HOST_SCALAR), "the host waits for the GPU"),
    ],
)
def test_ops_that_are_not_captured(given: Op, why: str) -> None:
    assert _uncaptured(given) == why


def step() -> Trace:
    def function(own: Calls, x: Tensor) -> Tensor:
        return (x @ own.w).exp() + own.b

    return trace(Calls(function), (torch.zeros(4, 4),))


def test_the_graphs_pool_has_what_graphs_create() -> None:
    plain = step()
    count = len(plain.ops)
    created = {n for n, s in enumerate(plain.storages) if s.born >= 0}
    assert created
    assert _pooled(plain, [0] * count, [99]) == created | {99}
    assert _pooled(plain, [-1] * count, []) == frozenset()
    # storages that an op outside of graphs touches first belong to no graph
    first = set(plain.ops[0].storages)
    assert _pooled(plain, [-1, *[0] * (count - 1)], []) == created - first


def test_a_copied_storage_has_the_shape_that_the_eager_step_reads() -> None:
    plain = step()
    x = next(n for n, s in enumerate(plain.storages) if s.role == "input")
    assert _shape(plain, plain, x).shape == (4, 4)
    # a storage that only the compiled step has is copied as 8-byte integers
    more = [*plain.storages, Storage(100, 0, None, "activation")]
    wider = plain.with_ops(list(plain.ops), more, range(len(plain.ops) + 1))
    assert _shape(plain, wider, len(more) - 1) == Shape((12,), "int64", (1,))
    other = [Storage(4, 0, None, "activation"), *plain.storages[1:]]
    turned = plain.with_ops(list(plain.ops), other, range(len(plain.ops) + 1))
    assert _shape(plain, turned, 0) == Shape((1,), "int64", (1,))


def test_the_head_of_a_graph_is_its_first_launch() -> None:
    piece = np.array([-1, 0, 0, 0, -1, 1, 1, 2])
    launches = np.array([5, 0, 2, 1, 3, 1, 0, 0])
    assert _heads(piece, launches) == [2, 5]  # the third graph launches nothing


def test_tensors_between_graphs_are_counted_once_for_each() -> None:
    plain = step()
    plan = issued(plain, gpu("h200"))
    storages = plain.storages
    launching = [i for i in range(len(plain.ops)) if plan.launches[i]]
    piece = np.array([0 if i <= launching[0] else 1 for i in range(len(plain.ops))])
    heads = _heads(piece, plan.launches)
    sides = [
        {s for i, o in enumerate(plain.ops) if piece[i] == side for s in o.storages}
        for side in (0, 1)
    ]
    crossing = {s for s in sides[0] & sides[1] if storages[s].role == "activation"}
    assert len(crossing) == 1
    assert _tensor_counts(plan, piece, heads) == [1, 1]
    assert _tensor_counts(plan, np.zeros(len(plain.ops), int), heads[:1]) == [0]


def test_a_call_without_graphs_costs_what_a_compiled_call_costs() -> None:
    """Without graphs, the queue belongs to the host, and gradients and the backward call have their
    compiled costs; with one graph they have those of a replayed call."""
    driver, card = host(), gpu("h200")
    free = dict.fromkeys((field.name for field in fields(HostCosts)), 0.0)
    costs = replace(
        HostCosts(**free), gradient_s=3e-6, backward_s=50e-6, reference_op_s=driver.seconds["op"]
    )
    model = Calls(lambda own, x: (x @ own.w).mean())
    training = trace(model, (torch.zeros(4, 4),), phase="training", optimizer=None)
    plan = issued(training, card)
    count = len(training.ops)

    def run(graph_of: list[int], gradient_s: float, backward_s: float) -> tuple[float, int]:
        replays = Replays(np.array(graph_of), (), (), frozenset())
        replay = ReplayCosts(0.0, 0.0, gradient_s, backward_s)
        launched, clock = replaying(plan, replays, driver, profile(), costs, replay)
        return float(np.sum(launched.host_s)) + float(launched.tail_s), clock.depth

    speed = driver.in_phase("training").seconds["op"] / driver.seconds["op"]
    none, depth = run([-1] * count, 1e-6, 7e-6)
    assert depth == driver.depth
    assert run([-1] * count, 0.0, 0.0)[0] == none > (2 * 3e-6 + 50e-6) * speed
    one, endless = run([0] * count, 1e-6, 7e-6)
    free_of_them, _ = run([0] * count, 0.0, 0.0)
    assert endless > 1 << 20
    # two weights, w and b, have gradients
    assert one - free_of_them == pytest.approx((2 * 1e-6 + 7e-6) * speed)
