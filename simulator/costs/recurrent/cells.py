"""The fused cells of `nn.LSTMCell` and `nn.GRUCell` (ATen/native/cuda/RNN.cu)."""

from __future__ import annotations

from simulator.costs.kernels.launches import pointwise, reduction
from simulator.costs.registry import Work, cost
from simulator.records import Signature


@cost("aten._thnn_fused_lstm_cell.default")
def lstm_cell(op: Signature) -> Work:
    """Compute h, c and a workspace for the backward pass from the gates of one step, [b,
    4·hidden]."""
    biased = op.get("input_bias") is not None
    # 4 gates of 1 addition (3 with both biases), 3 sigmoids, 2 tanh,
    # c = f·c + i·g is 3, h = o·tanh(c) is 1: 13, or 21
    return _cell(op, op["cx"].numel, 21 if biased else 13, specials=5)


@cost("aten._thnn_fused_gru_cell.default")
def gru_cell(op: Signature) -> Work:
    """Compute h and a workspace for the backward pass from the gates of one step, [b, 3·hidden]."""
    biased = op.get("input_bias") is not None
    # r and z: 1 addition (3) each; n: 2 (4) with r·(h + bias); 2 sigmoids, 1 tanh;
    # h' = n + z·(h - n) is 3: 10, or 16
    return _cell(op, op["hx"].numel, 16 if biased else 10, specials=3)


@cost("aten._thnn_fused_lstm_cell_backward_impl.default")
def lstm_cell_backward(op: Signature) -> tuple[Work, ...]:
    """Gradients of the gates, [b, 4·hidden], and of c; the bias gradient sums them over the
    batch."""
    # tanh(c) again; each gate's derivative and product: about 4·4 + 6
    main = _cell(op, op["cx"].numel, 23, specials=1, outputs=2)
    return main, *_bias_sums(op, 1)


@cost("aten._thnn_fused_gru_cell_backward.default")
def gru_cell_backward(op: Signature) -> tuple[Work, ...]:
    """Gradients of both sets of gates, [b, 3·hidden], and of h; the bias gradients are their
    sums."""
    # derivatives and products of three gates, the product rule for r, the gradient of h: about 18
    main = _cell(op, op["grad_hy"].numel, 18, specials=0, outputs=3)
    return main, *_bias_sums(op, 2)


def _cell(
    op: Signature, states: int, flops: int, *, specials: int, outputs: int | None = None
) -> Work:
    """`flops` per state; `specials` of them are exponentials, which take about 10 instructions
    each."""
    written = sum(t.nbytes for t in op.outputs[:outputs])
    return pointwise(
        states,
        op.read_bytes,
        written,
        flops=flops,
        slots=flops + 9 * specials,
        inputs=len(op.inputs),
        dtype=op.out.dtype,
    )


def _bias_sums(op: Signature, count: int) -> tuple[Work, ...]:
    if not op.arg("has_bias", False):
        return ()
    b, width = op.out.shape
    size = op.out.itemsize
    return (reduction(width, b, b * width * size, width * size, inner=width),) * count
