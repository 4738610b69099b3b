"""Which kernel `scaled_dot_product_attention` becomes, by GPU, dtype and shape.

The expectations were derived by hand from ATen/native/transformers/cuda/sdp_utils.cpp.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from simulator.tracing import trace
from tests.simulator.conftest import Calls

CUDNN = "aten._scaled_dot_product_cudnn_attention.default"
FLASH = "aten._scaled_dot_product_flash_attention.default"
EFFICIENT = "aten._scaled_dot_product_efficient_attention.default"
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


def heads(
    dtype: torch.dtype = BF16, width: int = 64, heads: int = 8, seq: int = 16, grad: bool = False
) -> Tensor:
    return torch.empty(2, heads, seq, width, dtype=dtype, device="meta", requires_grad=grad)


def plain(_: Calls, q: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, q, q)


def ops(module: Calls, *args: Tensor, gpu: str = "h200") -> list[str]:
    return trace(module, args, gpu=gpu).names()  # pyright: ignore


@pytest.mark.parametrize(
    ("gpu", "dtype", "backend"),
    [
        ("h200", BF16, CUDNN), ("h200", FP16, CUDNN), ("h200", FP32, EFFICIENT),
        ("h100", BF16, CUDNN), ("b200", BF16, CUDNN), ("gb200", FP16, CUDNN),
        ("a100", BF16, FLASH), ("a100", FP16, FLASH), ("a100", FP32, EFFICIENT),
        ("a10", BF16, FLASH), ("l4", BF16, FLASH), ("l40s", FP16, FLASH),
        ("rtx4090", BF16, FLASH), ("rtx5090", BF16, FLASH), ("rtx3090", FP32, EFFICIENT),
        # before Ampere there is neither flash attention nor bfloat16
        ("v100", FP16, EFFICIENT), ("v100", FP32, EFFICIENT),
        ("t4", FP16, EFFICIENT), ("t4", FP32, EFFICIENT),
    ],
)  # fmt: skip
def test_one_kernel_by_gpu_and_dtype(gpu: str, dtype: torch.dtype, backend: str) -> None:
    assert ops(Calls(plain), heads(dtype), gpu=gpu) == [backend]


@pytest.mark.parametrize("gpu", ["v100", "t4"])
def test_bfloat16_before_ampere_is_matrix_products(gpu: str) -> None:
    calls = ops(Calls(plain), heads(BF16), gpu=gpu)
    assert calls.count("aten.bmm.default") == 2 and "aten._safe_softmax.default" in calls
    assert not {CUDNN, FLASH, EFFICIENT} & set(calls)


@pytest.mark.parametrize(
    ("width", "gpu", "backend"),
    [
        (72, "h200", CUDNN),
        (72, "a100", FLASH),
        (256, "h200", CUDNN),
        (256, "a100", FLASH),
        (264, "h200", EFFICIENT),
        (264, "a100", EFFICIENT),
    ],
)
def test_head_widths_up_to_256_have_the_fast_kernels(width: int, gpu: str, backend: str) -> None:
    assert ops(Calls(plain), heads(width=width), gpu=gpu) == [backend]


@pytest.mark.parametrize("gpu", ["h200", "a100"])
@pytest.mark.parametrize("width", [60, 63])
def test_other_widths_are_padded_to_a_multiple_of_8(width: int, gpu: str) -> None:
    traced = trace(Calls(plain), (heads(width=width),), gpu=gpu)
    pad = "aten.constant_pad_nd.default"
    assert traced.names() == [pad, pad, pad, FLASH, "aten.slice.Tensor"]
    flash = traced.ops[3].signature
    assert flash["query"].shape == (2, 8, 16, 64)
    # the scale uses the width without padding
    assert flash.arg("scale") == width**-0.5
    assert traced.ops[4].outputs[0].shape == (2, 8, 16, width)


def test_a_mask_keeps_cudnn_and_excludes_flash() -> None:
    def masked(_: Calls, q: Tensor, mask: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)

    additive = torch.empty(16, 16, dtype=BF16, device="meta")
    assert ops(Calls(masked), heads(), additive) == [CUDNN]
    assert ops(Calls(masked), heads(), additive, gpu="a100") == ["aten.expand.default", EFFICIENT]
    boolean = torch.empty(16, 16, dtype=torch.bool, device="meta")
    assert ops(Calls(masked), heads(), boolean) == [
        "aten.scalar_tensor.default",
        "aten.scalar_tensor.default",
        "aten.where.self",
        CUDNN,
    ]
    # rows of 20 elements are padded to 32 and sliced, since the kernel loads 16 at once
    narrow = torch.empty(20, 20, dtype=BF16, device="meta")
    assert ops(Calls(masked), heads(seq=20), narrow, gpu="a100") == [
        "aten.constant_pad_nd.default",
        "aten.slice.Tensor",
        "aten.expand.default",
        EFFICIENT,
    ]


@pytest.mark.parametrize(("gpu", "backend"), [("h200", CUDNN), ("a100", FLASH)])
def test_fewer_heads_of_keys_stay_one_kernel(gpu: str, backend: str) -> None:
    def grouped(_: Calls, q: Tensor, k: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, k, enable_gqa=True)

    assert ops(Calls(grouped), heads(), heads(heads=2), gpu=gpu) == [backend]
    # in single precision no fused kernel accepts grouped queries: the keys are repeated, and two
    # products follow
    calls = ops(Calls(grouped), heads(FP32), heads(FP32, heads=2), gpu=gpu)
    assert calls.count("aten.bmm.default") == 2 and calls.count("aten.clone.default") == 2


def test_causal_with_as_many_queries_as_keys_is_flash_and_else_not() -> None:
    def causal(_: Calls, q: Tensor, k: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, k, is_causal=True)

    assert ops(Calls(causal), heads(), heads(), gpu="a100") == [FLASH]
    assert ops(Calls(causal), heads(), heads(seq=24), gpu="a100") == [EFFICIENT]


@pytest.mark.parametrize(
    ("gpu", "kind"), [("h200", "cudnn"), ("a100", "flash"), ("v100", "efficient")]
)
def test_the_backward_pass_is_the_same_backends(gpu: str, kind: str) -> None:
    q = heads(FP16, grad=True)
    names = trace(Calls(plain), (q,), gpu=gpu, phase="training", optimizer=None).names()
    kernels = [name for name in names if "attention" in name]
    assert kernels == [
        f"aten._scaled_dot_product_{kind}_attention.default",
        f"aten._scaled_dot_product_{kind}_attention_backward.default",
    ]


def test_the_output_of_cudnn_has_the_querys_layout() -> None:
    """A query [B, S, H, D] viewed as [B, H, S, D] gives an output that needs no copy."""

    def merged(_: Calls, x: Tensor) -> Tensor:
        q = x.view(2, 16, 8, 64).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, q, q)
        return y.transpose(1, 2).reshape(2, 16, 512)

    x = torch.empty(2, 16, 512, dtype=BF16, device="meta")
    assert "aten.clone.default" not in ops(Calls(merged), x)


def expanded(_: Calls, q: Tensor) -> Tensor:
    """A mask over the queries only, expanded over the keys, as transformers before 5.18 passes to
    BERT and ViT while a graph is compiled or captured."""
    mask = (torch.arange(16, device=q.device)[:, None] >= 0).expand(2, 1, 16, 16)
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)


def of_keys(_: Calls, q: Tensor) -> Tensor:
    mask = (torch.arange(16, device=q.device)[None] >= 0).expand(2, 1, 16, 16)
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)


@pytest.mark.parametrize("gpu", ["h200", "a100"])
@pytest.mark.parametrize("dtype", [BF16, FP32])
def test_a_mask_whose_last_stride_is_not_1_takes_no_fused_kernel(
    gpu: str, dtype: torch.dtype
) -> None:
    """`check_last_dim_stride_equals_1_dense` of sdp_utils_cpp.h: "GPU backends require attn_mask's
    last dimension to have stride 1"."""
    fused = {CUDNN, FLASH, EFFICIENT}
    calls = ops(Calls(expanded), heads(dtype), gpu=gpu)
    assert calls.count("aten.bmm.default") == 2 and not fused & set(calls)
    assert fused & set(ops(Calls(of_keys), heads(dtype), gpu=gpu))
