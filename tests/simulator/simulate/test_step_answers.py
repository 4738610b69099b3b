"""Predictions as a whole: errors, notes, unmodelled ops and memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from msgspec.structs import replace
from torch import Tensor, nn

from simulator import predict, predict_trace
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host, hosts
from simulator.networks.catalogue import build
from simulator.simulate import step as steps
from simulator.simulate.step import simulate
from simulator.timing.profile import profile
from simulator.tracing import trace
from tests.simulator.conftest import Calls
from tests.simulator.simulate.steps import answer, refused, traced


def test_kernels_are_timed_once_for_all_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    step, card, curves = traced("mlp-tiny"), gpu("h200"), profile()
    first = simulate(step, card, host(), curves, "eager")
    monkeypatch.setattr(steps, "roofs", lambda *_: pytest.fail("kernels were timed again"))
    later = simulate(step, card, host(), replace(curves, gap_s=1e-3), "eager")
    np.testing.assert_array_equal(later.columns.duration_s, first.columns.duration_s)
    # with steps back to back, each kernel waits for a millisecond
    assert later.period_s == pytest.approx(later.gpu_busy_s + 1e-3 * len(later.kernels), rel=0.01)


def test_a_network_that_waits_for_the_gpu_cannot_be_a_graph() -> None:
    assert refused(lambda: answer("mixtral-small", mode="cuda_graph")) == (
        "mode 'cuda_graph' cannot capture aten.nonzero.default in layers.0.feed_forward: it waits "
        "for the GPU; predict mode='eager'"
    )
    root = Calls(lambda _, x: x * x.sum().item())
    assert refused(lambda: predict(root, (torch.ones(4),), mode="cuda_graph")) == (
        "mode 'cuda_graph' cannot capture aten._local_scalar_dense.default: it waits for the GPU; "
        "predict mode='eager'"
    )


def test_unknown_names() -> None:
    assert refused(lambda: answer("mlp-tiny", mode="graph")) == (
        "unknown mode 'graph': expected one of 'eager', 'cuda_graph', 'compiled', "
        "'reduce-overhead', 'max-autotune', 'max-autotune-no-cudagraphs'"
    )
    assert refused(lambda: answer("mlp-tiny", "h201")).startswith(
        "unknown GPU 'h201': did you mean 'h20' or 'h200'?"
    )
    step = traced("mlp-tiny")
    assert refused(lambda: predict_trace(step, host="xeon-h20")) == (
        "unknown host 'xeon-h20': did you mean 'xeon-h200' or 'xeon-h100'? `ridgepoint hosts` "
        f"lists all {len(hosts())}"
    )
    assert refused(lambda: predict_trace(step, host="zzz")) == (
        f"unknown host 'zzz': expected one of {', '.join(hosts())}, or a calibrated host's .json "
        "file"
    )


# -- what is not modelled -----------------------------------------------------------------------


@torch.library.custom_op("ridgepoint_test::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    return 2 * x


@twice.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def test_ops_without_a_cost_are_named_with_their_number() -> None:
    module = Calls(lambda _, x: twice(twice(x)) + 1)
    prediction = predict(module, (torch.ones(1024),))
    assert prediction.unmodelled == {"ridgepoint_test.twice.default": 2}
    assert [kernel.name for kernel in prediction.kernels] == ["add.Tensor"]
    assert answer("bert-base").unmodelled == {}


def test_dependence_on_data_is_noted() -> None:
    (note,) = answer("mixtral-small").notes
    # 4·128 = 512 tokens, and one note for all eight experts
    assert note.startswith("aten.nonzero.default depends on data: taken as ")
    assert note.endswith(" (and 7 more)")


def test_a_network_that_launches_nothing() -> None:
    for module in (nn.Identity(), Calls(lambda _, x: x.view(-1))):
        prediction = predict(module, (torch.ones(4),))
        assert prediction.kernels == [] and prediction.gpu_busy_s == 0 and prediction.flops == 0
        assert prediction.shares == {"compute": 0.0, "memory": 0.0, "overhead": 1.0}
        assert prediction.period_s == pytest.approx(prediction.host_s) and prediction.host_s > 0
        graph = predict(module, (torch.ones(4),), mode="cuda_graph")
        assert graph.period_s == pytest.approx(profile().graph_launch_s)


# -- memory -------------------------------------------------------------------------------------


def test_weights_and_peak_by_hand() -> None:
    shown = answer("mlp-wide", dtype="bfloat16")
    # 4·(8192·8192 + 8192) + 8192·10 + 10 = 268,550,154 weights of 2 bytes
    assert shown.weight_bytes == 537_100_308
    # the head's 10 biases take a block: 512 bytes instead of 20; while a ReLU runs, memory holds
    # the network's input, the layer's input, and the two tensors of the ReLU, 1024·8192·2 =
    # 16,777,216 bytes each
    assert shown.peak_memory_bytes == 537_100_308 + 492 + 4 * 16_777_216 == 604_209_664
    assert shown.workspace_bytes == 32 * 2**20 and shown.fits
    # before Hopper, cuBLAS needs 8 MiB and 128 KiB
    assert answer("mlp-wide", "a100", dtype="bfloat16").workspace_bytes == 8_519_680


def test_what_does_not_fit() -> None:
    with torch.device("meta"):
        module = build("llama3-8b", layers=8)
        inputs = module.example_inputs(1, 128, True)  # pyright: ignore
    step = trace(module, inputs, phase="training")
    # 2·128256·4096 + 8·218,112,000 + 4096 = 2,795,573,248 weights; weights, gradients, two moments
    # and AdamW's temporary roots take 5·4 bytes each, 55.9 GB
    assert step.parameters == 2_795_573_248
    prediction = predict_trace(step, gpu="h200")
    assert prediction.peak_memory_bytes == pytest.approx(20 * step.parameters, rel=0.01)
    assert prediction.fits and predict_trace(step, gpu="a100").fits
    assert not predict_trace(step, gpu="a100-40gb").fits
    # 48 GiB
    assert not predict_trace(step, gpu="l40s").fits
