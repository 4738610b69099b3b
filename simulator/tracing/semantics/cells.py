"""`nn.LSTMCell` and `nn.GRUCell`: two products and one fused kernel (ATen/native/RNN.cpp).

The fused ops stay one kernel in a compiled step: Inductor lowers them to a call.
"""

from __future__ import annotations

import torch

from simulator.tracing.semantics.registry import Situation, on_gpu, shape_rule

aten = torch.ops.aten
Tensor = torch.Tensor


@on_gpu("lstm_cell")
def lstm_cell(
    situation: Situation,
    x: Tensor,
    hx: list[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Input [B, D] and two states [B, H] to the next states."""
    gates = torch.matmul(x, w_ih.t()), torch.matmul(hx[0], w_hh.t())
    return aten._thnn_fused_lstm_cell(*gates, hx[1], b_ih, b_hh)[:2]


@on_gpu("gru_cell")
def gru_cell(
    situation: Situation,
    x: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """Input [B, D] and state [B, H] to the next state."""
    gates = torch.matmul(x, w_ih.t()), torch.matmul(hx, w_hh.t())
    return aten._thnn_fused_gru_cell(*gates, hx, b_ih, b_hh)[0]


@shape_rule("_thnn_fused_gru_cell")
def fused_gru_cell(
    situation: Situation,
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The next state, and five values per element for the backward pass."""
    batch, hidden = hx.shape
    return hx.new_empty((batch, hidden)), hx.new_empty((batch, 5 * hidden))


@shape_rule("_thnn_fused_gru_cell_backward")
def fused_gru_cell_backward(
    situation: Situation, grad: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """Gradients of both sets of gates [B, 3·H], of the state, and of both biases."""
    batch, hidden = grad.shape
    gates = [grad.new_empty((batch, 3 * hidden)) for _ in range(2)]
    biases = [grad.new_empty((3 * hidden,)) if has_bias else None for _ in range(2)]
    return gates[0], gates[1], torch.empty_like(grad), biases[0], biases[1]
