"""Attention against hand-computed sums."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig

SDPA = "aten._scaled_dot_product_"
Q = ((2, 4, 128, 64), "bfloat16")
LSE = ((2, 4, 128), "float32")


def forward(backend: str, causal: bool = False, **more: Any) -> tuple[Work, ...]:
    args = {"dropout_p": 0.0, "is_causal": causal}
    name = f"{SDPA}{backend}_attention.default"
    return launched(sig(name, [Q, LSE], None, args, query=Q, key=Q, value=Q, **more))


def test_flash_forward() -> None:
    (work,) = forward("flash")
    # 2·2·4·128·128·(64 + 64) = 33,554,432
    assert work.flops == 33554432
    # q, k and v have 2·4·128·64·2 = 131,072 bytes each, and so has the output; the log-sum-exp has
    # 2·4·128·4 = 4,096
    assert (work.read_bytes, work.write_bytes) == (393216, 135168)
    # ten instructions for each pair
    assert work.instructions == 10 * 2 * 4 * 128 * 128
    assert work.dims == {
        "b": 2,
        "h": 4,
        "hk": 4,
        "sq": 128,
        "sk": 128,
        "d": 64,
        "dv": 64,
        "causal": False,
        "direction": "fwd",
        "backend": "flash",
        "mask": False,
        "dropout": 0.0,
        "fraction": 1.0,
    }


def test_causal_does_half_and_counts_all() -> None:
    (work,) = forward("flash", causal=True)
    # 128·129/2 = 8,256 of 16,384 pairs are visible
    assert (work.flops, work.dims["fraction"]) == (33554432, 8256 / 16384)


def test_a_mask_is_read() -> None:
    (work,) = forward("efficient", attn_bias=((2, 1, 128, 128), "bfloat16"))
    # 393,216 + 2·128·128·2
    assert (work.read_bytes, work.dims["mask"]) == (458752, True)


def test_cudnn_clears_before_but_not_for_one_query() -> None:
    clear, work = forward("cudnn")
    assert (clear.family, work.dims["backend"]) == ("fill", "cudnn")
    one = ((8, 32, 1, 64), "bfloat16")
    keys = ((8, 8, 1024, 64), "bfloat16")
    name = f"{SDPA}cudnn_attention.default"
    (decode,) = launched(sig(name, one, None, {}, query=one, key=keys, value=keys))
    # 2·8·32·1·1024·(64 + 64) = 67,108,864 FLOPs; keys and values have 8 heads, not 32
    assert decode.flops == 67108864
    # 8·32·64·2 + 2·8·8·1024·64·2 = 16,809,984
    assert (decode.read_bytes, decode.dims["hk"]) == (16809984, 8)


def test_float32_is_in_tf32() -> None:
    q = ((1, 2, 16, 32), "float32")
    name = f"{SDPA}efficient_attention.default"
    (work,) = launched(sig(name, q, None, {}, query=q, key=q, value=q))
    assert (work.engine, work.dtype) == ("tensor", "tf32")


def backward(backend: str, hk: int = 4, dtype: str = "bfloat16") -> tuple[Work, ...]:
    q, k = ((2, 4, 128, 64), dtype), ((2, hk, 128, 64), dtype)
    grad = "grad_out_" if backend == "efficient" else "grad_out"
    inputs: dict[str, Any] = {
        grad: q,
        "query": q,
        "key": k,
        "value": k,
        "out": q,
        "logsumexp": LSE,
    }
    name = f"{SDPA}{backend}_attention_backward.default"
    return launched(sig(name, [q, k, k], None, {"is_causal": False}, **inputs))


@pytest.mark.parametrize("backend", ["flash", "cudnn"])
def test_backward_is_three_kernels_after_a_clear_of_cudnns(backend: str) -> None:
    *first, before, main, after = backward(backend)
    # operands stored head by head are copied, because flash attention reads token by token
    assert [w.family for w in first] == (["fill"] if backend == "cudnn" else ["copy", "copy"])
    # a counter, or dO and O
    assert [w.write_bytes for w in first] == ([4] if backend == "cudnn" else [131072] * 2)
    # 2·2·4·128·128·(3·64 + 2·64) = 83,886,080
    assert main.flops == 83886080
    # reads dO and O, 131,072 bytes each; writes 4,096 bytes of sums and clears dQ in float32,
    # 262,144 bytes
    assert (before.read_bytes, before.write_bytes) == (262144, 266240)
    # reads q, k, v and dO, two float32 per row, dQ; writes dQ, dK and dV
    assert (main.read_bytes, main.write_bytes) == (4 * 131072 + 2 * 4096 + 262144, 524288)
    assert (after.read_bytes, after.write_bytes) == (262144, 131072)
    assert (before.dims["variant"], after.dims["variant"]) == ("delta", "dq")
    # a product and a sum for each of 2·4·128 rows of 64
    assert before.flops == 2 * 1024 * 64


def test_backward_sums_over_a_group_of_heads() -> None:
    *_, main, _, dk, dv = backward("flash", hk=2)
    # dK is written for 4 heads, 131,072, and summed to 2
    assert (dk.read_bytes, dk.write_bytes, dk.family) == (131072, 65536, "reduction")
    assert dk == dv
    assert main.write_bytes == 262144 + 2 * 131072
    # cuDNN also sums dK and dV, with its own kernel
    own, same = backward("cudnn", hk=2)[-2:]
    assert (own.read_bytes, own.write_bytes, own.dims["variant"]) == (131072, 65536, "heads")
    assert own == same


def test_flash_takes_tokens_that_lie_one_after_another_as_they_are() -> None:
    by_token = Tensor((2, 4, 128, 64), "bfloat16", (128 * 4 * 64, 64, 4 * 64, 1))
    inputs: dict[str, Any] = {
        "grad_out": by_token,
        "query": by_token,
        "key": by_token,
        "value": by_token,
        "out": by_token,
        "logsumexp": LSE,
    }
    name = f"{SDPA}flash_attention_backward.default"
    kernels = launched(sig(name, [by_token] * 3, None, {"is_causal": False}, **inputs))
    assert [w.family for w in kernels] == ["reduction", "attention", "pointwise"]


def test_efficient_backward_computes_delta_itself_in_16_bits() -> None:
    clear, main = backward("efficient")
    # 128 keys are two blocks of 64, which both add to a dQ of 2·4·128·64·4 bytes
    assert (clear.family, clear.write_bytes) == ("fill", 262144)
    # dO, q, k, v, out and the log-sum-exp
    assert (main.read_bytes, main.write_bytes) == (5 * 131072 + 4096, 3 * 131072)
    kernels = backward("efficient", dtype="float32")
    families = [w.family for w in kernels]
    assert families == ["pointwise", "reduction", "copy", "fill", "attention"]
    # a product of two tensors of 262,144 bytes, sums of rows of 64, and their transposition
    moved = [(w.read_bytes, w.write_bytes) for w in kernels[:3]]
    assert moved == [(2 * 262144, 262144), (262144, 4096), (4096, 4096)]
    assert (kernels[1].dims["rows"], kernels[1].dims["cols"]) == (1024, 64)
    # in float32 it reads the sums of the three kernels too, 2·4·128·4 bytes
    assert kernels[-1].read_bytes == 5 * 262144 + 4096 + 4096


@pytest.mark.parametrize(("d", "dv", "split"), [(64, 64, True), (128, 64, False), (64, 128, False)])
def test_heads_wider_than_64_have_blocks_of_128_keys(d: int, dv: int, split: bool) -> None:
    q, v = ((2, 4, 128, d), "bfloat16"), ((2, 4, 128, dv), "bfloat16")
    operands: dict[str, Any] = dict(grad_out_=v, query=q, key=q, value=v, out=v, logsumexp=LSE)
    name = f"{SDPA}efficient_attention_backward.default"
    works = launched(sig(name, [q, q, v], None, {"is_causal": False}, **operands))
    assert [w.family for w in works] == [*["fill"] * split, "attention"]


def test_a_window_keeps_a_band() -> None:
    q = ((1, 8, 2, 16), "bfloat16")  # [b, s, h, d]
    args = {
        "max_q": 8,
        "max_k": 8,
        "dropout_p": 0.0,
        "is_causal": True,
        "window_size_left": 2,
    }
    (work,) = launched(
        sig("aten._flash_attention_forward.default", q, None, args, query=q, key=q, value=q)
    )
    # 1 + 2 + 6·3 = 21 of 64 pairs are visible
    assert (work.dims["fraction"], work.dims["sq"], work.dims["h"]) == (21 / 64, 8, 2)


def test_flash_counts_causality_from_the_last_query() -> None:
    q, k = ((1, 2, 2, 16), "bfloat16"), ((1, 4, 2, 16), "bfloat16")
    args = {"max_q": 2, "max_k": 4, "dropout_p": 0.0, "is_causal": True}
    (work,) = launched(
        sig("aten._flash_attention_forward.default", q, None, args, query=q, key=k, value=k)
    )
    # 3 + 4 of 8
    assert work.dims["fraction"] == 7 / 8


@pytest.mark.parametrize("backend", ["efficient", "cudnn"])
def test_keys_that_no_query_sees_are_not_read(backend: str) -> None:
    few = ((2, 4, 32, 64), "bfloat16")
    args = {"is_causal": True}
    name = f"{SDPA}{backend}_attention.default"
    *_, work = launched(sig(name, few, None, args, query=few, key=Q, value=Q))
    # all of q, and 32 of 128 keys and values: 3 · 2·4·32·64·2 = 98,304 bytes
    assert work.read_bytes == 98304
    assert work.computed_flops == 2 * 2 * 4 * (32 * 33 // 2) * (64 + 64)
    *_, whole = launched(sig(name, few, None, {}, query=few, key=Q, value=Q))
    assert whole.read_bytes == 32768 + 2 * 131072


def test_keys_before_a_window_are_not_read() -> None:
    (work,) = launched(
        sig(
            "aten._flash_attention_forward.default",
            [((1, 4, 2, 64), "bfloat16")],
            None,
            {"window_size_left": 1, "window_size_right": 0},
            query=((1, 4, 2, 64), "bfloat16"),
            key=((1, 16, 2, 64), "bfloat16"),
            value=((1, 16, 2, 64), "bfloat16"),
        )
    )
    # four queries see keys 11 to 15 of 16: 4·2·64·2 = 1,024 bytes of q, and 5·2·64·2 each of keys
    # and values
    assert work.read_bytes == 1024 + 2 * 1280


def test_compiled_flex_attention_computes_a_share_of_the_pairs() -> None:
    q = ((2, 4, 128, 64), "bfloat16")
    name = "compiled.flex_attention"
    (work,) = launched(
        sig(f"{name}.default", [q, LSE], None, {"share": 0.5625}, query=q, key=q, value=q)
    )
    assert work.flops == 33554432  # counts all pairs, as the flash kernel does
    assert (work.read_bytes, work.write_bytes) == (393216, 135168)
    assert (work.dims["fraction"], work.dims["backend"]) == (0.5625, "flash")
    operands = dict(grad_out=q, query=q, key=q, value=q, out=q, logsumexp=LSE)
    delta, gradients = launched(
        sig(f"{name}_backward.default", [q, q, q], None, {"share": 0.5625}, **operands)
    )
    # 2·2·4·128·128·(3·64 + 2·64) = 83,886,080
    assert gradients.flops == 83886080
    assert gradients.dims["direction"] == "bwd"
    # dO and O have 131,072 bytes each; the sums have 2·4·128·4 = 4,096
    assert (delta.read_bytes, delta.write_bytes) == (262144, 4096)
    # a multiply-add for each of 2·4·128·64 = 65,536 numbers
    assert delta.flops == 131072


@pytest.mark.parametrize(("left", "right"), [(2, -1), (-1, 1), (0, 0), (2, 3), (-1, -1)])
def test_the_share_of_pairs_in_a_window(left: int, right: int) -> None:
    q, k = ((1, 5, 2, 64), "bfloat16"), ((1, 7, 2, 64), "bfloat16")
    windows = {"window_size_left": left, "window_size_right": right, "is_causal": False}
    name = "aten._flash_attention_forward.default"
    (work,) = launched(sig(name, [q, LSE], None, windows, query=q, key=k, value=k))
    # the last query is aligned to the last key
    seen = sum(
        (left < 0 or j >= i + 2 - left) and (right < 0 or j <= i + 2 + right)
        for i in range(5)
        for j in range(7)
    )
    assert work.dims["fraction"] == pytest.approx(seen / 35)
