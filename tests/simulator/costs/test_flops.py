"""FLOPs against `torch.utils.flop_counter`, on random shapes, for every op that it knows.

The oracle's functions take shapes (or, for the raw ones, tensors on `meta`). The recorder's own
split of a call into tensors and plain arguments makes the signature, so that both see one call.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import flop_registry

from simulator.costs import works
from simulator.records import Signature, Tensor
from simulator.tracing.call_arguments import by_name

aten: Any = torch.ops.aten
CASES = 50
Call = tuple[Any, tuple[Any, ...], Any]


def t(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def signature(func: Any, args: tuple[Any, ...], out: Any) -> Signature:
    tensors, names, plain = by_name(func, args, {})
    outs = [o for o in (out if isinstance(out, tuple) else (out,)) if o is not None]
    records = [
        Tensor(tuple(x.shape), str(x.dtype).removeprefix("torch."), tuple(x.stride()))
        for x in (*tensors, *outs)
    ]
    n = len(tensors)
    return Signature(str(func), tuple(records[:n]), tuple(records[n:]), names, plain)


def ours(call: Call) -> int:
    """FLOPs of the products only: the oracle does not count bias, softmax and sums."""
    kernels = works(signature(*call))
    assert kernels is not None, f"{call[0]} has no cost"
    return sum(w.flops for w in kernels if w.family in ("gemm", "conv", "attention"))


def theirs(call: Call) -> int:
    func, args, out = call
    return flop_registry[func.overloadpacket](*args, out_val=out)


def mm(r: random.Random) -> Call:
    m, n, k = (r.randint(1, 300) for _ in range(3))
    return aten.mm.default, (t(m, k), t(k, n)), t(m, n)


def addmm(r: random.Random) -> Call:
    m, n, k = (r.randint(1, 300) for _ in range(3))
    bias = r.choice([t(n), t(m, n)])
    return aten.addmm.default, (bias, t(m, k), t(k, n)), t(m, n)


def bmm(r: random.Random) -> Call:
    b, m, n, k = (r.randint(1, 100) for _ in range(4))
    return aten.bmm.default, (t(b, m, k), t(b, k, n)), t(b, m, n)


def baddbmm(r: random.Random) -> Call:
    b, m, n, k = (r.randint(1, 100) for _ in range(4))
    return aten.baddbmm.default, (t(b, m, n), t(b, m, k), t(b, k, n)), t(b, m, n)


def scaled_mm(r: random.Random) -> Call:
    m, n, k = (16 * r.randint(1, 30) for _ in range(3))
    a, b = t(m, k, dtype=torch.float8_e4m3fn), t(k, n, dtype=torch.float8_e4m3fn)
    one = t(dtype=torch.float32)
    return aten._scaled_mm.default, (a, b, one, one), t(m, n)


def _conv(r: random.Random, groups: int, transposed: bool) -> tuple[Any, ...]:
    """x, weight, the geometry, and the result's shape by the formulas of torch.nn.Conv."""
    dims = r.randint(1, 3)
    cin, cout = groups * r.randint(1, 5), groups * r.randint(1, 5)
    kernel = [r.randint(1, 4) for _ in range(dims)]
    stride = [r.randint(1, 3) for _ in range(dims)]
    dilation = [r.randint(1, 2) for _ in range(dims)]
    padding = [r.randint(0, k - 1) for k in kernel]
    size = [r.randint(8, 14) for _ in range(dims)]
    each = zip(size, kernel, stride, dilation, padding, strict=True)
    if transposed:
        after = [(s - 1) * st - 2 * p + d * (k - 1) + 1 for s, k, st, d, p in each]
        shape = (cin, cout // groups, *kernel)
    else:
        after = [(s + 2 * p - d * (k - 1) - 1) // st + 1 for s, k, st, d, p in each]
        shape = (cout, cin // groups, *kernel)
    n = r.randint(1, 4)
    geometry = (stride, padding, dilation, transposed, [0] * dims, groups)
    return t(n, cin, *size), t(*shape), geometry, t(n, cout, *after), cout


def convolution(r: random.Random) -> Call:
    x, w, geometry, out, cout = _conv(r, r.choice([1, 1, 2, 4]), r.random() < 0.4)
    bias = r.choice([None, t(cout)])
    return aten.convolution.default, (x, w, bias, *geometry), out


def old_convolution(r: random.Random) -> Call:
    x, w, geometry, out, _ = _conv(r, r.choice([1, 1, 2, 4]), r.random() < 0.4)
    return aten._convolution.default, (x, w, None, *geometry, False, False, True, True), out


def overrideable(r: random.Random) -> Call:
    x, w, geometry, out, _ = _conv(r, r.choice([1, 2]), r.random() < 0.4)
    return aten.convolution_overrideable.default, (x, w, None, *geometry), out


def convolution_backward(r: random.Random) -> Call:
    """One group: with several, the oracle counts the gradient of the weight wrongly."""
    x, w, geometry, out, cout = _conv(r, 1, r.random() < 0.4)
    mask = [r.random() < 0.7 for _ in range(3)]
    args = (out, x, w, [cout], *geometry, mask)
    grads = (x if mask[0] else None, w if mask[1] else None, t(cout) if mask[2] else None)
    return aten.convolution_backward.default, args, grads


def grouped_data_gradient(r: random.Random) -> Call:
    """Without the gradient of the weight, groups agree too."""
    x, w, geometry, out, cout = _conv(r, r.choice([2, 4, 8]), r.random() < 0.4)
    args = (out, x, w, [cout], *geometry, [True, False, True])
    return aten.convolution_backward.default, args, (x, None, t(cout))


def _heads(r: random.Random) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k, v and the output, [b, h, s, d], with fewer heads of keys in half of the cases."""
    b, hk, times = r.randint(1, 4), r.randint(1, 4), r.choice([1, 1, 2, 4])
    sq, sk = r.randint(1, 200), r.randint(1, 200)
    d, dv = 8 * r.randint(1, 16), 8 * r.randint(1, 16)
    h = hk * times
    return t(b, h, sq, d), t(b, hk, sk, d), t(b, hk, sk, dv), t(b, h, sq, dv)


def _lse(q: torch.Tensor) -> torch.Tensor:
    return t(*q.shape[:3], dtype=torch.float32)


def flash(r: random.Random) -> Call:
    q, k, v, out = _heads(r)
    causal = r.random() < 0.5
    return aten._scaled_dot_product_flash_attention.default, (q, k, v, 0.0, causal), (out, _lse(q))


def efficient(r: random.Random) -> Call:
    q, k, v, out = _heads(r)
    bias = r.choice([None, t(q.shape[0], q.shape[1], q.shape[2], k.shape[2])])
    args = (q, k, v, bias, True, 0.0, r.random() < 0.5)
    return aten._scaled_dot_product_efficient_attention.default, args, (out, _lse(q))


def cudnn(r: random.Random) -> Call:
    q, k, v, out = _heads(r)
    args = (q, k, v, None, True, 0.0, r.random() < 0.5)
    return aten._scaled_dot_product_cudnn_attention.default, args, (out, _lse(q))


def flash_backward(r: random.Random) -> Call:
    q, k, v, out = _heads(r)
    args = (out, q, k, v, out, _lse(q), None, None, q.shape[2], k.shape[2], 0.0, False)
    seed = t(dtype=torch.int64)
    func = aten._scaled_dot_product_flash_attention_backward.default
    return func, (*args, seed, seed), (q, k, v)


def efficient_backward(r: random.Random) -> Call:
    q, k, v, out = _heads(r)
    seed = t(dtype=torch.int64)
    args = (out, q, k, v, None, out, _lse(q), seed, seed, 0.0, [True, True, True, False])
    return aten._scaled_dot_product_efficient_attention_backward.default, args, (q, k, v)


def cudnn_backward(r: random.Random) -> Call:
    q, k, v, out = _heads(r)
    seed = t(dtype=torch.int64)
    args = (out, q, k, v, out, _lse(q), seed, seed, None, None, None, q.shape[2], k.shape[2])
    return aten._scaled_dot_product_cudnn_attention_backward.default, (*args, 0.0, True), (q, k, v)


def _packed(r: random.Random) -> tuple[Any, ...]:
    """Concatenated sequences, [total, h, d]; on meta each counts as long as the longest."""
    n, longest_q, longest_k = r.randint(1, 5), r.randint(2, 60), r.randint(2, 60)
    hk, times, d = r.randint(1, 3), r.choice([1, 2]), 8 * r.randint(1, 8)
    q, k = t(n * longest_q, hk * times, d), t(n * longest_k, hk, d)
    offsets = t(n + 1, dtype=torch.int32)
    return q, k, offsets, longest_q, longest_k


def packed_flash(r: random.Random) -> Call:
    q, k, offsets, mq, mk = _packed(r)
    args = (q, k, k, offsets, offsets, mq, mk, 0.0, False, False)
    return aten._flash_attention_forward.default, args, (q,)


def packed_flash_backward(r: random.Random) -> Call:
    q, k, offsets, mq, mk = _packed(r)
    seed = t(dtype=torch.int64)
    lse = t(q.shape[1], q.shape[0], dtype=torch.float32)
    args = (q, q, k, k, q, lse, offsets, offsets, mq, mk, 0.0, False, seed, seed)
    return aten._flash_attention_backward.default, args, (q, k, k)


def packed_efficient(r: random.Random) -> Call:
    q, k, offsets, mq, mk = _packed(r)
    q, k = q[None], k[None]
    args = (q, k, k, None, offsets, offsets, mq, mk, 0.0, 0)
    return aten._efficient_attention_forward.default, args, (q,)


def packed_efficient_backward(r: random.Random) -> Call:
    q, k, offsets, mq, mk = _packed(r)
    q, k, seed = q[None], k[None], t(dtype=torch.int64)
    lse = t(1, q.shape[2], q.shape[1], dtype=torch.float32)
    args = (q, q, k, k, None, q, offsets, offsets, mq, mk, lse, 0.0, seed, seed, 0, False)
    return aten._efficient_attention_backward.default, args, (q, k, k)


MAKERS: list[Callable[[random.Random], Call]] = [
    mm, addmm, bmm, baddbmm, scaled_mm, convolution, old_convolution, overrideable,
    convolution_backward, grouped_data_gradient, flash, efficient, cudnn, flash_backward,
    efficient_backward, cudnn_backward, packed_flash, packed_flash_backward, packed_efficient,
    packed_efficient_backward,
]  # fmt: skip


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_flops_are_torchs(make: Callable[[random.Random], Call]) -> None:
    r = random.Random(make.__name__)
    for _ in range(CASES):
        call = make(r)
        assert ours(call) == theirs(call), signature(*call)


def test_every_formula_of_torch_is_compared() -> None:
    covered = {make(random.Random(0))[0].overloadpacket for make in MAKERS}
    left = {str(op) for op in flop_registry if op not in covered}
    # cudnn_convolution orders its arguments differently from the oracle's formula, and
    # _slow_conv2d_forward has fewer arguments; flex attention is not an ATen op
    assert left == {
        "aten.cudnn_convolution",
        "aten._slow_conv2d_forward",
        "flex_attention",
        "flex_attention_backward",
    }


def test_cudnn_convolution_is_the_convolution() -> None:
    x, w, out = t(2, 6, 9, 9), t(8, 3, 3, 3), t(2, 8, 7, 7)
    args = (x, w, [0, 0], [1, 1], [1, 1], 2, False, False, True)
    # 2·2·(7·7)·(8·3·3·3) = 42,336
    assert ours((aten.cudnn_convolution.default, args, out)) == 42336


def test_int_mm() -> None:
    a, b = t(32, 64, dtype=torch.int8), t(64, 48, dtype=torch.int8)
    # 2·32·48·64 = 196,608
    assert ours((aten._int_mm.default, (a, b), t(32, 48, dtype=torch.int32))) == 196608


def test_depthwise_backward_is_twice_the_forward_where_torch_says_65_times() -> None:
    x, w = t(1, 64, 10, 10), t(64, 1, 3, 3)
    geometry = ([1, 1], [1, 1], [1, 1], False, [0, 0], 64)
    forward: Call = (aten.convolution.default, (x, w, None, *geometry), x)
    args = (x, x, w, [64], *geometry, [True, True, False])
    backward: Call = (aten.convolution_backward.default, args, (x, w, None))
    # 2·1·(10·10)·(64·1·3·3) = 115,200
    assert ours(forward) == theirs(forward) == 115200
    # 115,200 FLOPs for the gradient of the input and the same for that of the weight
    assert ours(backward) == 230400 == 2 * 115200
    # the oracle counts 115,200 for the input and 64 times as much for the weight: 7,372,800
    assert theirs(backward) == 7488000 == 65 * 115200


def test_flashs_own_entry_has_heads_after_the_sequence() -> None:
    """The operands are [b, s, h, d], which the oracle reads as [b, h, s, d] if sequences are not
    packed.
    """
    q = t(2, 128, 4, 64)
    args = (q, q, q, None, None, 128, 128, 0.0, False, False)
    call: Call = (aten._flash_attention_forward.default, args, (q,))
    # 4·b·h·s·s·d = 4·2·4·128·128·64 = 33,554,432
    assert ours(call) == 33554432
    # 4·2·128·4·4·64 = 1,048,576: it counts 128 heads of 4 tokens
    assert theirs(call) == 1048576
