"""Fused attention, softmax(q·kᵀ)·v in one kernel, and the kernels of its backward pass.

`flops` counts every pair of query and key, as `torch.utils.flop_counter` does; dims["fraction"] is
the share of the pairs that a causal or windowed kernel computes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from simulator.costs.curves import curve_rule
from simulator.costs.kernels.launches import copy, fill, pointwise, reduction
from simulator.costs.registry import Engine, Work, cost
from simulator.records import Signature, Tensor

DRAWN = 33
"""Issue slots of dropout's random number per score, which overlap with nothing else. The best fits
are 33 and 34 for cuDNN's forward kernels (8 × 12 heads of length 128, 4 × 12 of 512), 33 and 30 for
two held-out ones (8 × 12 of 1,024, 32 × 12 of 256), and 24 to 29 for the backward kernels."""


class _Shape(NamedTuple):
    b: int
    h: int
    hk: int
    sq: int
    sk: int
    d: int
    dv: int


class Band(NamedTuple):
    """Query i attends to keys i + shift - left to i + shift + right; a negative side is
    unbounded."""

    left: int
    right: int
    shift: int


@cost(
    "aten._scaled_dot_product_flash_attention.default",
    "aten._scaled_dot_product_flash_attention.quantized",
    "aten._scaled_dot_product_efficient_attention.default",
    "aten._scaled_dot_product_fused_attention_overrideable.default",
    "aten._flash_attention_forward.default",
    "aten._flash_attention_forward.quantized",
    "aten._flash_attention_forward_no_dropout_inplace.default",
    "aten._efficient_attention_forward.default",
)
def attention(op: Signature) -> Work:
    """One kernel: reads q, k, v and the mask, writes the output and the log-sum-exp."""
    return _forward(op)


@cost("aten._scaled_dot_product_cudnn_attention.default", "aten._cudnn_attention_forward.default")
def cudnn_attention(op: Signature) -> tuple[Work, ...]:
    """cuDNN's kernel. Unless there is a single query, two kernels run before it: one unpacks the
    seed of a dropout, the other clears the tile counter."""
    main = _forward(op)
    if _shape(op).sq == 1:
        return (main,)
    seed = (fill(2, 8),) if op.arg("dropout_p", 0.0) else ()
    return *seed, fill(1, 4), main


@cost(
    "aten._scaled_dot_product_flash_attention_backward.default",
    "aten._scaled_dot_product_fused_attention_overrideable_backward.default",
    "aten._scaled_dot_product_cudnn_attention_backward.default",
    "aten._flash_attention_backward.default",
    "aten._cudnn_attention_backward.default",
)
def flash_backward(op: Signature) -> tuple[Work, ...]:
    """Three kernels: sum(dO·O) per row, the gradients with dQ in float32, and dQ cast to its dtype.
    Flash's ATen wrapper first copies dO and O if their tokens are not contiguous.

    With fewer key heads than query heads, flash writes dK and dV for every query head and then
    sums them over each group of heads (flash_api.cpp, mha_bwd).
    """
    shape, q, k, v = _shape(op), op["query"], op["key"], op["value"]
    grad, out = op["grad_out"], op["out"]
    rows = 4 * shape.b * shape.h * shape.sq  # one float32 per query and head
    dq32 = 4 * q.numel
    expanded = shape.hk < shape.h and _backend(op) in ("flash", "cudnn")
    times = shape.h // shape.hk if expanded else 1
    dk, dv = k.numel * k.itemsize, v.numel * v.itemsize
    backend = _backend(op)
    copies = [
        copy(x, x.numel * x.itemsize)
        for x in (grad, out)
        if backend == "flash" and not _by_token(op, x)
    ]
    preprocess = reduction(  # also clears dQ's accumulator
        rows // 4, shape.dv, grad.nbytes + out.nbytes, rows + dq32, flops=2
    )
    main = _backward(
        op,
        read=q.nbytes + k.nbytes + v.nbytes + grad.nbytes + 2 * rows + dq32,
        write=dq32 + times * (dk + dv),
    )
    convert = pointwise(q.numel, dq32, q.numel * q.itemsize)
    sums = tuple(
        reduction(x.numel, times, times * size, size, inner=shape.d)
        for x, size in ((k, dk), (v, dv))
    )
    cleared = (fill(1, 4),) if backend == "cudnn" else ()
    if backend == "cudnn":
        sums = tuple(_library_kernel(work, "heads", op) for work in sums)
    preprocess, convert = (
        _library_kernel(preprocess, "delta", op),
        _library_kernel(convert, "dq", op),
    )
    return (*copies, *cleared, preprocess, main, convert, *(sums if expanded else ()))


def _library_kernel(work: Work, name: str, op: Signature) -> Work:
    """The work of a call that a kernel of the attention library runs, not a kernel of ATen."""
    dims = {**work.dims, "variant": name, "backend": _backend(op), "d": _shape(op).d}
    return replace(work, dims=dims)


def _by_token(op: Signature, x: Tensor) -> bool:
    """Whether the heads of a token are adjacent in memory, as in [b, s, h, d]."""
    if not _is_sdpa(op):
        return x.contiguous
    (b, h, s, d), stride = x.shape, x.stride
    packed = zip(
        (b, s, h, d),
        (stride[0], stride[2], stride[1], stride[3]),
        (s * h * d, h * d, d, 1),
        strict=True,
    )
    return all(size == 1 or step == contiguous for size, step, contiguous in packed)


@cost(
    "aten._scaled_dot_product_efficient_attention_backward.default",
    "aten._efficient_attention_backward.default",
)
def efficient_backward(op: Signature) -> tuple[Work, ...]:
    """In 16 bits the kernel computes delta = sum(dO·O) itself; in float32 three kernels run before
    it: a product, a sum and a transposition (kKernelComputesDelta in kernel_backward.h). If the
    keys are split over blocks, the blocks add to a float32 dQ under locks, and a kernel clears dQ
    first.
    """
    shape, grad = _shape(op), op["grad_out_"]
    rows = 4 * shape.b * shape.h * shape.sq
    main = _backward(
        op,
        read=op.read_bytes + (rows if grad.itemsize == 4 else 0),
        write=op.write_bytes,
    )
    clear = (fill(op["query"].numel, 4),) if _splits_keys(shape, grad.itemsize) else ()
    if grad.itemsize < 4:
        return *clear, main
    n, full = grad.numel, grad.numel * 4
    product = pointwise(n, grad.nbytes + op["out"].nbytes, full, inputs=2)
    total = reduction(rows // 4, shape.dv, full, rows)
    delta = Tensor((shape.b, shape.h, shape.sq), "float32", (shape.sq * shape.h, 1, shape.h))
    return product, total, copy(delta, rows), *clear, main


def _splits_keys(shape: _Shape, itemsize: int) -> bool:
    """Whether there is a block per 64 keys (128 for 16-bit heads wider than 64).

    Two blocks of keys are not split if batch · heads is 256 or more (attention_backward.cu).
    """
    block = 64 if max(shape.d, shape.dv) <= 64 or itemsize == 4 else 128
    return shape.sk > block and not (shape.b * shape.h >= 256 and shape.sk <= 2 * block)


def _forward(op: Signature) -> Work:
    """One kernel of 2·pairs·d FLOPs for q·kᵀ and 2·pairs·dv for the product with v."""
    shape = _shape(op)
    pairs = shape.b * shape.h * shape.sq * shape.sk
    read = op.read_bytes - _unread(op, shape)
    return _work(op, 2 * pairs * (shape.d + shape.dv), read, op.write_bytes, "fwd")


def _backward(op: Signature, *, read: int, write: int) -> Work:
    """One kernel: three products of width d (scores again, dQ, dK), two of width dv (dP, dV)."""
    shape = _shape(op)
    pairs = shape.b * shape.h * shape.sq * shape.sk
    read -= _unread(op, shape)
    return _work(op, 2 * pairs * (3 * shape.d + 2 * shape.dv), read, write, "bwd")


def _work(op: Signature, flops: int, read: int, write: int, direction: str) -> Work:
    shape, dims = _shape(op), _dims(op, direction)
    engine, dtype = _unit(op["query"].dtype)
    return Work(
        "attention",
        flops=flops,
        read_bytes=read,
        write_bytes=write,
        engine=engine,
        dtype=dtype,
        instructions=10 * shape.b * shape.h * shape.sq * shape.sk,  # an exp for each pair
        dims=dims,
    )


def _unit(dtype: str) -> tuple[Engine, str]:
    """Engine and dtype of the products; float32 takes three in TF32 (OpMultiplyAddFastF32)."""
    return "tensor", "tf32" if dtype == "float32" else dtype


def _backend(op: Signature) -> str:
    return next(b for b in ("flash", "efficient", "cudnn", "fused") if f"_{b}_" in op.name)


def _is_sdpa(op: Signature) -> bool:
    """Whether the layout is [b, h, s, d]; flash's and efficient's own ops take [b, s, h, d]."""
    return "scaled_dot_product" in op.name or "cudnn" in op.name


def _shape(op: Signature) -> _Shape:
    """The sizes of the call; every packed sequence is counted with the length of the longest
    one."""
    q, k, v = op["query"].shape, op["key"].shape, op["value"].shape
    lengths = op.get("cum_seq_q") or op.get("cu_seqlens_q")
    if lengths is not None and lengths.numel > 1 and not _is_sdpa(op):
        names = ("max_q", "max_k") if "flash" in op.name else ("max_seqlen_q", "max_seqlen_k")
        sq, sk = (op.args[name] for name in names)
        return _Shape(lengths.numel - 1, q[-2], k[-2], sq, sk, q[-1], v[-1])
    heads, length = (1, 2) if _is_sdpa(op) else (2, 1)
    return _Shape(q[0], q[heads], k[heads], q[length], k[length], q[3], v[3])


def _dims(op: Signature, direction: str) -> dict[str, Any]:
    shape = _shape(op)
    kind = op.arg("custom_mask_type", 1 if op.arg("is_causal", False) else 0)
    bias: Tensor | None = op.get("attn_bias") or op.get("bias")
    return {
        **shape._asdict(),
        "causal": kind != 0,
        "direction": direction,
        "backend": _backend(op),
        "mask": bias is not None and bias.numel > 0,
        "dropout": float(op.arg("dropout_p", 0.0)),
        "fraction": _fraction(op, shape),
    }


@curve_rule("attention")
def attention_curve(work: Work) -> str:
    """Name of the curve: one per backend and direction."""
    return f"attention_{work.dims['backend']}_{work.dims['direction']}"


def band(op: Signature) -> Band:
    """The pairs of query and key that are computed.

    Kinds of mask: 0 none, 1 causal, 2 causal aligned to the last query. The entry point of flash
    always aligns to the last query.
    """
    kind = op.arg("custom_mask_type", 1 if op.arg("is_causal", False) else 0)
    left, right = op.arg("window_size_left", -1), op.arg("window_size_right", -1)
    window = op.arg("window_size", -1) or -1
    if window > 0:  # efficient attention: keys up to and including the query's own
        left = window - 1
    if kind != 0:
        right = 0
    shape = _shape(op)
    last = kind == 2 or "aten._flash" in op.name
    return Band(left, right, shape.sk - shape.sq if last else 0)


def _unread(op: Signature, shape: _Shape) -> int:
    """Bytes of the keys and values that no block reads, because no query attends to them: those
    after the last query, under a causal mask aligned to the first query."""
    left, right, shift = band(op)
    first = max(shift - left, 0) if left >= 0 else 0
    end = min(shape.sq + shift + right, shape.sk) if right >= 0 else shape.sk
    unseen = shape.sk - max(end - first, 0)
    return (op["key"].nbytes + op["value"].nbytes) * unseen // max(shape.sk, 1)


def _fraction(op: Signature, shape: _Shape) -> float:
    """Share of the pairs (query i, key j) inside the band."""
    sq, sk = shape.sq, shape.sk
    left, right, shift = band(op)
    if (left < 0 and right < 0) or not sq * sk:
        return 1.0
    pairs = _pairs_before(sq, sk, shift + right + 1) if right >= 0 else sq * sk
    return (pairs - (_pairs_before(sq, sk, shift - left) if left >= 0 else 0)) / (sq * sk)


def _pairs_before(sq: int, sk: int, shift: int) -> int:
    """Σ over the queries i of the number of keys before i + shift, clipped to 0 … sk: a clipped
    triangle and the rectangle after it."""

    def before(end: int) -> int:  # Σ of these numbers over all positions up to `end`
        inside = min(max(end, 0), sk + 1)
        return inside * (inside - 1) // 2 + max(end - sk - 1, 0) * sk

    return before(shift + sq) - before(shift)
