"""Predictions of compiled steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import nn

from simulator import predict_trace
from simulator.analysis.fusion_report import explain
from simulator.errors import InputError
from simulator.fusion.lowering.library.layouts import (
    _nodes,
    channels_last,
    needs_copy,
    to_channels_last,
)
from simulator.fusion.lowering.library.padding import padded
from simulator.fusion.scheduling.work import dims, lanes
from simulator.hardware.host import host
from simulator.records import Signature, Tensor, Trace
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import trace_resolved
from simulator.simulate.traces import Step, simulated
from simulator.timing.profile import learned
from simulator.tracing import trace as traced
from tests.simulator.conftest import Calls


def network(name: str, **asked: object) -> Trace:
    return trace_resolved(resolve(Scenario(name, **asked)))  # pyright: ignore[reportArgumentType]


def test_a_chain_that_waits_for_its_host_gains_its_launches() -> None:
    step = network("bert-base", batch=1, seq=64, dtype="fp16")
    eager, compiled = (predict_trace(step, mode=mode) for mode in ("eager", "compiled"))
    assert compiled.kernel_count < eager.kernel_count
    assert compiled.gpu_busy_s < eager.gpu_busy_s and compiled.host_s < eager.host_s
    assert compiled.memory.peak_bytes <= eager.memory.peak_bytes


def test_the_optimizer_is_not_compiled() -> None:
    step = network("mlp-tiny", training=True)
    compiled = predict_trace(step, mode="compiled")
    after = [op.name for op in compiled.trace.ops if op.phase == "optimizer"]
    assert after == [op.name for op in step.ops if op.phase == "optimizer"]


def test_a_slower_host_takes_as_much_longer() -> None:
    step, slow = network("mlp-tiny"), host().slower(3.0)
    one, three = (predict_trace(step, mode="compiled", host=h).host_s for h in (host(), slow))
    assert three == pytest.approx(3 * one)


def test_many_at_once_equal_one_by_one() -> None:
    step = network("mlp-tiny", training=True)
    alone = predict_trace(step, mode="compiled")
    table, refused = simulated([Step(step, alone.gpu, host(), learned("h200_sxm"), "compiled")])
    assert not refused
    np.testing.assert_allclose(table[0, :2], [alone.period_s, alone.latency_s])


def test_a_compiled_module_is_not_compiled_again() -> None:
    compiled = predict_trace(network("mlp-tiny"), mode="compiled")
    again = predict_trace(compiled.step, mode="compiled")
    assert again.trace is compiled.trace and again.period_s == compiled.period_s
    assert predict_trace(compiled.step, mode="cuda_graph").fusion is compiled.fusion
    eager = predict_trace(network("mlp-tiny"))
    assert eager.step is eager.trace


def test_the_explanation_accounts_for_every_kernel_and_second() -> None:
    step = network("bert-base", batch=2, seq=64, dtype="bf16")
    p = predict_trace(step, mode="compiled")
    report = explain(p)
    kernels = sum(m.launches for m in report.merged) + sum(each.launches for each in report.unfused)
    seconds = sum(m.after_s for m in report.merged) + sum(each.seconds for each in report.unfused)
    assert kernels == p.kernel_count and seconds == pytest.approx(p.gpu_busy_s)
    gelu = next(m for m in report.merged if m.ops == ("gelu",))
    assert (gelu.count, gelu.launches, gelu.bytes_saved) == (12, 12, 0)
    assert ("addmm", "cuBLAS runs matrix products") in {(o.op, o.reason) for o in report.unfused}


def test_eager_steps_have_nothing_to_explain() -> None:
    with pytest.raises(InputError) as error:
        explain(predict_trace(network("mlp-tiny")))
    assert str(error.value) == (
        "fusion of a step in mode 'eager' cannot be explained: nothing is fused there; predict "
        "mode='compiled'"
    )


def test_layouts() -> None:
    assert channels_last(network("resnet18", batch=2))
    assert not channels_last(network("bert-base", batch=2, seq=16))
    weight = Tensor((64, 3, 7, 7), "float32", (147, 49, 7, 1))
    assert to_channels_last(weight).stride == (147, 1, 21, 3)
    assert needs_copy(weight) and not needs_copy(to_channels_last(weight))
    assert not needs_copy(Tensor((64, 32, 1, 1), "float32", (32, 1, 1, 1)))
    assert not needs_copy(Tensor((64, 1, 3, 3), "float32", (9, 9, 3, 1)))  # depthwise


def test_a_product_is_padded_where_that_pays() -> None:
    def product(n: int) -> Signature:
        return Signature(
            "aten.mm.default",
            (Tensor((64, 32), "bfloat16", (32, 1)), Tensor((32, n), "bfloat16", (1, 32))),
            (Tensor((64, n), "bfloat16", (n, 1)),),
            ("self", "mat2"),
            {},
        )

    times = {"aten.cat.default": 0.5}

    def seconds(ops: Sequence[Signature]) -> list[float]:
        return [times.get(op.name, 2.0 if op.out.shape[1] % 8 else 1.0) for op in ops]

    wide = padded(product(50), (False, False), seconds)
    assert wide is not None
    assert [t.shape for t in (*wide.inputs, wide.out)] == [(64, 32), (32, 56), (64, 56)]
    assert wide.inputs[1].stride == (1, 32)
    assert padded(product(56), (False, False), seconds) is None  # nothing to pad
    times["aten.cat.default"] = 0.9
    assert padded(product(50), (False, False), seconds) is None  # 2.0 < 1.1 · 1.9
    assert padded(product(50), (False, True), seconds) is not None  # the copy costs nothing


def test_graph_breaks_are_named() -> None:
    p = predict_trace(network("mixtral-small", batch=1, seq=32, dtype="bf16"), mode="compiled")
    assert p.notes[-2] == (
        "torch.compile breaks its graph at mixtral.py, line 29 (32 times): the size of the "
        "result of nonzero depends on data"
    )
    plain = predict_trace(network("mlp-tiny"), mode="compiled")
    assert plain.notes[-1] == (
        "compiled by rules like Inductor's, without running it; the optimizer stays eager"
    )


def test_nodes_of_a_graph_are_its_arguments_and_what_its_ops_become() -> None:
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.GELU())
    step = traced(module, (torch.zeros(2, 3, 8, 8),))
    # 3 inputs (the image, the convolution's weight and bias), 1 node for the convolution, and 7 for
    # a GELU
    assert _nodes(step, step.ops) == 3 + 1 + 7
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8))
    step = traced(module, (torch.zeros(2, 3, 8, 8),))
    # a group norm has 2 inputs of its own and 13 nodes
    assert _nodes(step, step.ops) == 3 + 1 + 2 + 13
    halves = traced(Calls(lambda _, x: x.chunk(2)[0] + 1), (torch.zeros(4),))
    # an argument and two unused parameters; a split with its two parts; and a sum
    assert _nodes(halves, halves.ops) == 3 + (1 + 2) + 1


def test_the_fast_path_of_inference_is_not_fused() -> None:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    p = predict_trace(traced(layer, (torch.ones(2, 16, 64),), run="compiled"), mode="compiled")
    assert [(each.op, each.reason) for each in explain(p).unfused] == [
        (
            "_transformer_encoder_layer_fwd",
            "torch.compile leaves PyTorch's fast path for inference as one op",
        )
    ]


def test_rows_above_1024_elements_are_looped() -> None:
    for cols, looped in ((1024, False), (1025, True)):
        assert dims("reduction", 0, 8, cols, 0, 1)["looped"] is looped
    assert dims("reduction", 0, 8, 16, 0, 1, looped=True)["looped"]
    assert not dims("reduction", 0, 0, 2000, 0, 1)["looped"]  # sums across rows are not


def test_a_row_takes_a_power_of_two_of_lanes_or_blocks_of_2048() -> None:
    assert [lanes(cols) for cols in (1, 49, 64, 197, 768, 1024, 1214, 2048, 3000, 4096, 5000)] == [
        *(1, 64, 64, 256, 1024, 1024, 2048, 2048, 4096, 4096, 6144)
    ]
