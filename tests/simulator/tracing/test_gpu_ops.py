"""Ops that a GPU build dispatches and a CPU build does not: dropout, norms, recurrent layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from simulator.tracing import trace
from tests.simulator.conftest import Calls

X = torch.ones(4, 4)
IMAGE = torch.ones(2, 3, 8, 8)


def forward(module: nn.Module, *args: Any, **options: Any) -> list[str]:
    step = trace(module, args, **options)
    return [op.name.removeprefix("aten.") for op in step.ops if op.phase == "forward"]


def test_dropout_is_one_kernel_in_training_and_none_in_evaluation() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
    traced = trace(module, (X,), phase="training", optimizer=None)
    assert traced.names().count("aten.native_dropout.default") == 1
    assert traced.names().count("aten.native_dropout_backward.default") == 1
    assert not any("bernoulli" in name for name in traced.names())
    assert forward(module, X) == ["t.default", "addmm.default"]


def test_dropout_of_nothing_and_of_everything() -> None:
    # p = 0 launches nothing; p = 1 multiplies by zero
    assert forward(Calls(lambda _, x: F.dropout(x, 0.0, True)), X) == []
    assert forward(Calls(lambda _, x: F.dropout(x, 1.0, True)), X) == [
        "zeros.default",
        "mul.Tensor",
    ]


@pytest.mark.parametrize(
    ("weights", "image", "gpu", "backend"),
    [
        (torch.float32, torch.float32, "h200", "cudnn"),
        (torch.float32, torch.float16, "h200", "cudnn"),
        # ATen's own kernels run for fp16 with fp16 weights, for bfloat16, and for other vendors
        (torch.float16, torch.float16, "h200", "native"),
        (torch.bfloat16, torch.bfloat16, "h200", "native"),
        (torch.float32, torch.float32, "mi300x", "native"),
    ],
)
def test_batch_norms_backend(
    weights: torch.dtype, image: torch.dtype, gpu: str, backend: str
) -> None:
    op = forward(nn.BatchNorm2d(3).to(weights), IMAGE.to(image), gpu=gpu)
    expected = [f"{backend}_batch_norm.default"]
    if backend == "native":  # cuDNN would fill this reserve
        expected.insert(0, "empty.memory_format")
    assert op == expected


def test_batch_norm_in_training_counts_its_batches_and_goes_back_through_cudnn() -> None:
    traced = trace(nn.BatchNorm2d(3), (IMAGE,), phase="training", optimizer=None)
    assert traced.names()[:2] == ["aten.add_.Tensor", "aten.cudnn_batch_norm.default"]
    assert traced.names().count("aten.cudnn_batch_norm_backward.default") == 1


def test_batch_norm_without_weights_or_with_a_small_eps_is_native() -> None:
    assert "native_batch_norm.default" in forward(nn.BatchNorm2d(3, affine=False), IMAGE)
    assert "native_batch_norm.default" in forward(nn.BatchNorm2d(3, eps=1e-6), IMAGE)


def test_rms_norm_is_one_kernel_each_way() -> None:
    traced = trace(nn.RMSNorm(4), (X,), phase="training", optimizer=None)
    norms = [name for name in traced.names() if "rms" in name]
    assert norms == ["aten._fused_rms_norm.default", "aten._fused_rms_norm_backward.default"]
    forward_op = next(op for op in traced.ops if "rms" in op.name)
    # the output, and one reciprocal root per row
    assert [t.shape for t in forward_op.outputs] == [(4, 4), (4, 1)]


def test_rms_norm_with_weights_of_another_dtype_is_composite() -> None:
    assert forward(nn.RMSNorm(4), X.bfloat16()) == [
        "_to_copy.default",
        "pow.Tensor_Scalar",
        "mean.dim",
        "add_.Tensor",
        "rsqrt.default",
        "mul.Tensor",
        "mul.Tensor",
        "_to_copy.default",
    ]


@pytest.mark.parametrize("cell", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("layers", [1, 3])
def test_a_recurrent_layer_is_one_op_each_way(cell: Any, layers: int) -> None:
    module = cell(8, 16, layers, batch_first=True)
    x = torch.ones(2, 5, 8)
    names = trace(module, (x,), phase="training", optimizer=None).names()
    assert names.count("aten._cudnn_rnn.default") == 1
    assert names.count("aten._cudnn_rnn_backward.default") == 1
    assert "aten.addmm.default" not in names and "aten.mm.default" not in names
    evaluated = trace(module, (x,))
    op = next(op for op in evaluated.ops if op.name == "aten._cudnn_rnn.default")
    assert op.outputs[0].shape == (2, 5, 16)
    assert op.outputs[3].shape == (0,)  # no reserve without a backward pass


def test_a_recurrent_layers_reserve() -> None:
    traced = trace(nn.LSTM(8, 16), (torch.ones(5, 2, 8),), phase="training", optimizer=None)
    op = next(op for op in traced.ops if op.name == "aten._cudnn_rnn.default")
    # 5 tensors per step, 5 steps, 2 sequences, width 16, 4 bytes: 3,200; 128 for the last states;
    # 256 more
    assert op.outputs[3].shape == (5 * 5 * 2 * 16 * 4 + 2 * 16 * 4 + 256,) == (3584,)


def test_a_recurrent_layers_weights_are_counted_once() -> None:
    """cuDNN's one flat buffer is the weights themselves."""
    traced = trace(nn.LSTM(8, 16), (torch.ones(5, 2, 8),))
    weights = [s for s in traced.storages if s.role == "weight"]
    # 4·16 gates: 64·8 + 64·16 + 64 + 64 = 1,664 weights
    assert sum(s.nbytes for s in weights) == 4 * 1664 == traced.weight_bytes


def test_depthwise_convolution_keeps_channels_last() -> None:
    image = torch.ones(2, 8, 6, 6).to(memory_format=torch.channels_last)
    module = nn.Conv2d(8, 8, 3, groups=8).to(memory_format=torch.channels_last)
    out = trace(module, (image,)).ops[-1].outputs[0]
    # [2, 8, 4, 4]: the channels have stride 1, the width stride 8
    assert out.shape == (2, 8, 4, 4) and out.stride == (128, 1, 32, 8)


def test_half_softmax_widens_as_it_reads_and_bfloat16_is_cast_first() -> None:
    module = Calls(lambda _, x: torch.softmax(x, -1, dtype=torch.float32))
    assert forward(module, X.half()) == ["_softmax.default"]
    assert forward(module, X.bfloat16()) == ["_to_copy.default", "_softmax.default"]


def test_the_cells_of_a_loop_are_two_products_and_a_fused_kernel() -> None:
    x, state = torch.ones(2, 8), torch.ones(2, 16)
    products = ["t.default", "mm.default"] * 2
    for module, states, name in (
        (nn.GRUCell(8, 16), state, "_thnn_fused_gru_cell"),
        (nn.LSTMCell(8, 16), (state, state), "_thnn_fused_lstm_cell"),
    ):
        assert forward(module, x, states) == [*products, f"{name}.default"]
    traced = trace(nn.GRUCell(8, 16), (x, state), phase="training", optimizer=None)
    (back,) = (op for op in traced.ops if op.name == "aten._thnn_fused_gru_cell_backward.default")
    shapes = [t.shape for t in back.outputs]
    assert shapes == [(2, 48), (2, 48), (2, 16), (48,), (48,)]
    lstm = trace(nn.LSTMCell(8, 16), (x, (state, state)), phase="training", optimizer=None)
    assert "aten._thnn_fused_lstm_cell_backward_impl.default" in lstm.names()


def test_batch_norm_of_rows_is_atens_own() -> None:
    assert forward(nn.BatchNorm1d(4), X) == ["empty.memory_format", "native_batch_norm.default"]
    assert forward(nn.BatchNorm1d(4), torch.ones(2, 4, 5)) == ["cudnn_batch_norm.default"]


@pytest.mark.parametrize(
    ("pictures", "stride"),
    [(2, (144, 1, 24, 4)), (1, (144, 36, 6, 1))],
)
def test_pictures_of_turned_tokens_are_in_channels_last_unless_there_is_one(
    pictures: int, stride: tuple[int, ...]
) -> None:
    """The stride of a single image is that of its channels, by which torch distinguishes
    layouts."""

    def fold(network: Calls, x: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x.transpose(1, 2).reshape(pictures, 4, 6, 6), network.w[..., None, None])

    out = trace(Calls(fold), (torch.ones(pictures, 36, 4),)).ops[-1].outputs[0]
    assert out.shape == (pictures, 4, 6, 6) and out.stride == stride
