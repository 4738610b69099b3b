"""`torch.autocast("cuda")` on tensors without memory: the lists of ATen/autocast_mode.h."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.records import Trace
from simulator.tracing import trace
from tests.simulator.conftest import Calls

X = torch.ones(4, 4)


def rows(traced: Trace, phase: str = "forward") -> list[str]:
    """Each op as "name inputs -> outputs", with dtypes only."""
    short = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "int64": "i64"}
    return [
        f"{op.name.removeprefix('aten.').partition('.')[0]} "
        f"{' '.join(short[t.dtype] for t in op.inputs)} -> "
        f"{' '.join(short[t.dtype] for t in op.outputs)}"
        for op in traced.ops
        if op.phase == phase
    ]


def test_linear_runs_in_bfloat16_and_its_weights_are_cast_once_a_region() -> None:
    def twice(self: Calls, x: Tensor) -> Tensor:
        return F.linear(F.linear(x, self.w, self.b), self.w, self.b)

    product = ["t bf16 -> bf16", "addmm bf16 bf16 bf16 -> bf16"]
    cast = "_to_copy f32 -> bf16"
    # casts of bias, weight and x, then two products
    assert rows(trace(Calls(twice), (X,), autocast="bf16")) == [cast] * 3 + product * 2
    assert rows(trace(Calls(twice), (X,))) == ["t f32 -> f32", "addmm f32 f32 f32 -> f32"] * 2


def test_weights_are_cast_again_in_the_next_region() -> None:
    def regions(self: Calls, x: Tensor) -> Tensor:
        with torch.autocast("cuda", dtype=torch.float16):
            y = x @ self.w
        with torch.autocast("cuda", dtype=torch.float16):
            return y @ self.w

    product = "mm f16 f16 -> f16"
    cast = "_to_copy f32 -> f16"
    assert rows(trace(Calls(regions), (X,))) == [cast, cast, product, cast, product]


def test_a_frozen_weight_is_cast_at_every_use() -> None:
    """The cache holds only leaves that require a gradient."""
    module = Calls(lambda self, x: (x @ self.w) @ self.w)
    module.requires_grad_(False)
    casts = rows(trace(module, (X,), autocast="bf16"))
    assert casts.count("_to_copy f32 -> bf16") == 3  # x, and w twice


def test_softmax_and_norms_run_in_single_precision() -> None:
    def both(self: Calls, x: Tensor) -> Tensor:
        y = torch.softmax(x @ self.w, -1)
        return F.layer_norm((y @ self.w), (4,))

    assert rows(trace(Calls(both), (X,), autocast="bf16")) == [
        "_to_copy f32 -> bf16",
        "_to_copy f32 -> bf16",
        "mm bf16 bf16 -> bf16",
        "_to_copy bf16 -> f32",
        "_softmax f32 -> f32",
        "_to_copy f32 -> bf16",
        "mm bf16 bf16 -> bf16",
        "_to_copy bf16 -> f32",
        "native_layer_norm f32 -> f32 f32 f32",
    ]


def test_softmax_widens_from_half_as_it_reads() -> None:
    module = Calls(lambda self, x: torch.softmax(x @ self.w, -1))
    assert rows(trace(module, (X,), autocast="fp16"))[-2:] == [
        "mm f16 f16 -> f16",
        "_softmax f16 -> f32",
    ]


def test_cross_entropy_is_cast_inside() -> None:
    """No list contains cross_entropy: its softmax keeps the dtype of the logits, and nll_loss,
    which it calls in C++, is in the list of single precision.
    """

    def loss(self: Calls, x: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(x @ self.w, labels)

    labels = torch.zeros(4, dtype=torch.int64)
    assert rows(trace(Calls(loss), (X, labels), autocast="bf16"))[2:] == [
        "mm bf16 bf16 -> bf16",
        "_log_softmax bf16 -> bf16",
        "_to_copy bf16 -> f32",
        "nll_loss_forward f32 i64 -> f32 f32",
    ]


def test_a_nested_region_may_turn_it_off_and_the_outer_one_goes_on() -> None:
    def nested(self: Calls, x: Tensor) -> Tensor:
        y = x @ self.w
        with torch.autocast("cuda", enabled=False):
            y = y.float() @ self.w
        return y @ self.w

    assert rows(trace(Calls(nested), (X,), autocast="fp16")) == [
        "_to_copy f32 -> f16",
        "_to_copy f32 -> f16",
        "mm f16 f16 -> f16",
        "_to_copy f16 -> f32",
        "mm f32 f32 -> f32",
        "_to_copy f32 -> f16",
        "mm f16 f16 -> f16",
    ]


def test_mixed_inputs_are_widened_to_the_widest() -> None:
    module = Calls(lambda self, x: torch.addcmul(x, x.bfloat16(), x))
    assert rows(trace(module, (X,), autocast="bf16")) == [
        "_to_copy f32 -> bf16",
        "_to_copy bf16 -> f32",
        "addcmul f32 f32 f32 -> f32",
    ]


def test_integers_and_doubles_are_left_alone() -> None:
    module = Calls(lambda self, x: x.double() @ self.w.double())
    last = trace(module, (X,), autocast="bf16").ops[-1]
    assert [t.dtype for t in last.inputs] == ["float64", "float64"]


def test_gradients_come_back_in_the_weights_dtype() -> None:
    traced = trace(nn.Linear(4, 4), (X,), phase="training", autocast="bf16", optimizer=None)
    backward = rows(traced, "backward")
    assert "mm bf16 bf16 -> bf16" in backward
    assert backward.count("_to_copy bf16 -> f32") == 2  # for weight and bias


def test_attention_and_convolution_are_cast() -> None:
    q = torch.empty(2, 4, 16, 64, device="meta")
    module = Calls(lambda self, q: F.scaled_dot_product_attention(q, q, q))
    assert trace(module, (q,), autocast="bf16").names()[-1] == (
        "aten._scaled_dot_product_cudnn_attention.default"
    )
    last = trace(nn.Conv2d(3, 4, 3), (torch.ones(1, 3, 8, 8),), autocast="fp16").ops[-1]
    assert last.name == "aten.convolution.default"
    assert {t.dtype for t in last.inputs} == {"float16"}
