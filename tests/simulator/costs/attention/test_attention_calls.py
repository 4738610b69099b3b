"""Packed sequences, windows, dropout and layouts of attention, checked by counting pairs and
bytes."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from simulator.costs import Work
from simulator.costs.attention.fused import Band, band
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import launched, sig

FLASH, EFFICIENT = "aten._flash_attention_forward.default", "aten._efficient_attention_forward"
ITEM = 2


def by_token(name: str, queries: int, keys: int, **args: Any) -> Signature:
    """A call on one sequence [b, s, h, d] with 2 heads of width 8."""
    q, k = ((1, queries, 2, 8), "bfloat16"), ((1, keys, 2, 8), "bfloat16")
    return sig(name, q, None, args, query=q, key=k, value=k)


def seen(queries: int, keys: int, left: int, right: int, shift: int) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i, j in product(range(queries), range(keys))
        if (left < 0 or j >= i + shift - left) and (right < 0 or j <= i + shift + right)
    ]


@pytest.mark.parametrize(
    ("queries", "keys", "left", "right"),
    [(5, 7, 2, 0), (5, 7, -1, 2), (7, 5, 1, 1), (7, 5, 0, 0), (4, 4, 3, 0), (3, 9, 0, 4),
     (3, 9, 1, 0), (1, 6, 2, 0), (9, 2, 4, 0), (5, 7, 0, -1), (7, 9, 3, -1)],
)  # fmt: skip
def test_pairs_and_read_keys_of_a_window_are_those_counted(
    queries: int, keys: int, left: int, right: int
) -> None:
    op = by_token(FLASH, queries, keys, window_size_left=left, window_size_right=right)
    (work,) = launched(op)
    pairs = seen(queries, keys, left, right, keys - queries)
    assert work.dims["fraction"] == pytest.approx(len(pairs) / (queries * keys))
    # a block reads the keys from the first to the last that any query sees
    read = {j for _, j in pairs}
    span = max(read) - min(read) + 1
    assert work.read_bytes == ITEM * 2 * 8 * (queries + 2 * span)


@pytest.mark.parametrize(
    ("window", "kind", "expected"),
    [
        (0, 0, Band(-1, -1, 0)),
        (3, 1, Band(2, 0, 0)),  # the query's own key and the two before it
        (1, 1, Band(0, 0, 0)),
        (3, 2, Band(2, 0, 4)),  # aligned to the last query: shifted by 9 - 5
        (0, 1, Band(-1, 0, 0)),
        (None, 1, Band(-1, 0, 0)),
    ],
)
def test_a_window_of_the_efficient_kernel_ends_at_the_query(
    window: int | None, kind: int, expected: Band
) -> None:
    op = by_token(f"{EFFICIENT}.default", 5, 9, window_size=window, custom_mask_type=kind)
    assert band(op) == expected
    (work,) = launched(op)
    left, right, shift = expected
    pairs = seen(5, 9, left, right, shift)
    assert work.dims["fraction"] == pytest.approx(len(pairs) / 45)
    assert work.dims["causal"] is (kind != 0)


def test_no_queries_or_keys_have_no_pairs_to_share() -> None:
    op = by_token(FLASH, 0, 4, is_causal=True)
    (work,) = launched(op)
    assert (work.flops, work.dims["fraction"]) == (0, 1.0)


@pytest.mark.parametrize(
    ("name", "lengths", "longest"),
    [
        (FLASH, "cum_seq_q", ("max_q", "max_k")),
        (f"{EFFICIENT}.default", "cu_seqlens_q", ("max_seqlen_q", "max_seqlen_k")),
    ],
)
def test_packed_sequences_are_each_as_long_as_the_longest(
    name: str, lengths: str, longest: tuple[str, str]
) -> None:
    """Three sequences in 20 tokens, with up to 8 queries and 9 keys, and 2 heads of width 8:
    2·3·2·8·9·(8 + 8) = 13,824."""
    q, flash = ((20, 2, 8), "bfloat16"), name == FLASH
    q = q if flash else ((1, 20, 2, 8), "bfloat16")
    args = dict(zip(longest, (8, 9), strict=True))
    (work,) = launched(
        sig(name, q, None, args, query=q, key=q, value=q, **{lengths: ((4,), "int32")})
    )
    assert work.flops == 13824
    assert (work.dims["b"], work.dims["h"], work.dims["sq"], work.dims["sk"]) == (3, 2, 8, 9)
    # all-zero offsets mean that the call is not packed: 2·2·20·20·16 FLOPs
    q = ((1, 20, 2, 8), "bfloat16")
    (whole,) = launched(
        sig(name, q, None, args, query=q, key=q, value=q, **{lengths: ((1,), "int32")})
    )
    assert whole.flops == 2 * 2 * 20 * 20 * 16


def test_dropout_of_cudnn_unpacks_its_seed_first() -> None:
    q = ((2, 4, 16, 8), "bfloat16")
    name = "aten._scaled_dot_product_cudnn_attention.default"
    seed, counter, main = launched(sig(name, q, None, {"dropout_p": 0.1}, query=q, key=q, value=q))
    assert (seed.write_bytes, counter.write_bytes) == (2 * 8, 4)
    assert main.dims["dropout"] == 0.1
    # cuDNN's own op takes heads before tokens too
    own = sig("aten._cudnn_attention_forward.default", q, None, {}, query=q, key=q, value=q)
    *_, work = launched(own)
    assert (work.dims["h"], work.dims["sq"]) == (4, 16)


def test_a_bias_is_a_mask_unless_it_is_empty() -> None:
    q = ((1, 8, 2, 8), "bfloat16")
    for shape, mask in (((1, 2, 8, 8), True), ((0,), False)):
        bias = (shape, "bfloat16")
        (work,) = launched(
            sig(f"{EFFICIENT}.default", q, None, {}, query=q, key=q, value=q, bias=bias)
        )
        assert work.dims["mask"] is mask


def test_an_exponential_takes_ten_instructions_a_pair() -> None:
    (work,) = launched(by_token(FLASH, 5, 7))
    assert work.instructions == 10 * 2 * 5 * 7


def splits(batch: int, heads: int, keys: int, width: int, dtype: str = "float16") -> bool:
    q, k = ((batch, heads, 64, width), dtype), ((batch, heads, keys, width), dtype)
    lse = ((batch, heads, 64), "float32")
    works: tuple[Work, ...] = launched(
        sig(
            "aten._scaled_dot_product_efficient_attention_backward.default", [q, k, k], None, {},
            grad_out_=q, query=q, key=k, value=k, out=q, logsumexp=lse,
        )
    )  # fmt: skip
    return works[-2].family == "fill" if len(works) > 1 else False


@pytest.mark.parametrize(
    ("batch", "heads", "keys", "width", "dtype", "split"),
    [
        (2, 4, 64, 64, "float16", False),  # one block of 64 keys
        (2, 4, 65, 64, "float16", True),
        (2, 4, 128, 65, "float16", False),  # wider heads: one block of 128 keys
        (2, 4, 129, 65, "float16", True),
        (2, 4, 65, 128, "float32", True),  # 64 keys per block again in float32
        (16, 16, 128, 64, "float16", False),  # two blocks of keys, and 256 blocks of rows
        (16, 16, 129, 64, "float16", True),  # three blocks
        (15, 17, 128, 64, "float16", True),  # 255
    ],
)
def test_keys_are_split_over_blocks(
    batch: int, heads: int, keys: int, width: int, dtype: str, split: bool
) -> None:
    assert splits(batch, heads, keys, width, dtype) is split


def backward(name: str, q: Tensor, k: Tensor) -> tuple[Work, ...]:
    lse = ((2, 4, 16), "float32")
    inputs: dict[str, Any] = dict(grad_out=q, query=q, key=k, value=k, out=q, logsumexp=lse)
    return launched(sig(name, [q, k, k], None, {}, **inputs))


def test_own_ops_of_flash_take_tokens_in_order_and_copy_others() -> None:
    name = "aten._flash_attention_backward.default"
    dense = Tensor((2, 16, 4, 8), "bfloat16", (512, 32, 8, 1))
    assert [w.family for w in backward(name, dense, dense)] == [
        "reduction",
        "attention",
        "pointwise",
    ]
    by_head = Tensor((2, 16, 4, 8), "bfloat16", (512, 8, 128, 1))
    copies = [w for w in backward(name, by_head, dense) if w.family == "copy"]
    # dO and O, 2·16·4·8 elements of 2 bytes each
    assert [(w.read_bytes, w.write_bytes) for w in copies] == [(2048, 2048)] * 2


def test_a_batch_of_one_token_may_have_any_stride_in_its_sizes_of_one() -> None:
    name = "aten._scaled_dot_product_flash_attention_backward.default"
    one = Tensor((1, 4, 1, 8), "bfloat16", (999, 8, 777, 1))
    assert "copy" not in [w.family for w in backward(name, one, one)]


def test_only_flash_and_cudnn_expand_the_gradients_of_shared_heads() -> None:
    q = Tensor((2, 4, 16, 8), "bfloat16", (512, 128, 8, 1))
    k = Tensor((2, 2, 16, 8), "bfloat16", (256, 128, 8, 1))
    fused = "aten._scaled_dot_product_fused_attention_overrideable_backward.default"
    assert [w.family for w in backward(fused, q, k)] == ["reduction", "attention", "pointwise"]
    cudnn = "aten._scaled_dot_product_cudnn_attention_backward.default"
    *_, main, _, dk, dv = backward(cudnn, q, k)
    # dQ has 2·4·16·8 elements of 4 bytes; dK and dV have 4 heads and 2 bytes per element
    assert main.write_bytes == 4 * 1024 + 2 * 2 * 1024
    assert dk == dv and dk.dims["rows"] == 512 and dk.dims["cols"] == 2
    # every two rows of gradients are added into one; the result has 2·2·16·8 elements
    assert (dk.read_bytes, dk.write_bytes) == (2 * 1024, 1024)
    same = [w.family for w in backward(cudnn, q, q)]
    assert same == ["fill", "reduction", "attention", "pointwise"]


def test_flex_attention_in_float32_runs_like_the_efficient_kernel() -> None:
    q, lse = ((1, 2, 16, 8), "float32"), ((1, 2, 16), "float32")
    op = sig(
        "compiled.flex_attention.default", [q, lse], None, {"share": 1}, query=q, key=q, value=q
    )
    (work,) = launched(op)
    assert (work.dtype, work.dims["backend"]) == ("tf32", "efficient")
    assert work.instructions == 10 * 2 * 16 * 16
    half = ((1, 2, 16, 8), "float16")
    op = sig("compiled.flex_attention.default", [half, lse], None, {"share": 1}, query=half,
             key=half, value=half)  # fmt: skip
    assert launched(op)[0].dtype == "float16"
