"""Recurrent layers: one cuDNN call for all layers and steps (ATen/native/cudnn/RNN.cpp)."""

from __future__ import annotations

from typing import Any, cast

import torch

from simulator.tracing.semantics.registry import Situation, on_gpu, shape_rule

aten = torch.ops.aten
Tensor = torch.Tensor
_MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}


@on_gpu("lstm.input")
def lstm(
    situation: Situation,
    x: Tensor,
    hx: list[Tensor],
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Input [B, S, D] or [S, B, D] to output, last hidden and last cell state."""
    states = hx[0], hx[1]
    settings = has_biases, num_layers, dropout, train, bidirectional, batch_first
    return _cudnn(situation, "lstm", x, states, params, *settings)[:3]


def _single_state(kind: str) -> None:
    @on_gpu(f"{kind}.input")
    def rule(
        situation: Situation,
        x: Tensor,
        hx: Tensor,
        params: list[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor]:
        settings = has_biases, num_layers, dropout, train, bidirectional, batch_first
        return _cudnn(situation, kind, x, (hx, None), params, *settings)[:2]


for _kind in ("gru", "rnn_tanh", "rnn_relu"):
    _single_state(_kind)


def _cudnn(
    situation: Situation,
    kind: str,
    x: Tensor,
    states: tuple[Tensor, Tensor | None],
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    hx, cx = states
    weights = params
    if _is_cast(params):
        weights, half = _cast_weights(params), torch.float16
        x, hx, cx = x.to(half), hx.to(half), None if cx is None else cx.to(half)
    hidden, projected = hx.shape[-1], 0
    if kind == "lstm" and cx is not None and cx.shape[-1] != hidden:
        hidden, projected = cx.shape[-1], hidden
    has_dropout = train and dropout > 0
    state = _dropout_state(situation, x) if has_dropout else None
    return aten._cudnn_rnn(
        x,
        weights,
        4 if has_biases else 2,
        _flat_weights(situation, weights),
        hx,
        cx,
        _MODES[kind],
        hidden,
        projected,
        num_layers,
        batch_first,
        dropout,
        train,
        bidirectional,
        [],
        state,
    )[:3]


def _is_cast(params: list[Tensor]) -> bool:
    """Whether autocast casts the layer: always to float16, whatever the dtype of autocast
    (`_cudnn_rnn_cast_reflatten`, ATen/autocast_mode.cpp)."""
    return torch.is_autocast_enabled("cuda") and params[0].dtype is torch.float32


def _cast_weights(params: list[Tensor]) -> list[Tensor]:
    """The weights in float16, copied into a buffer that is first filled with zeros."""
    size = sum(p.numel() for p in params)
    torch.zeros((size,), dtype=torch.float16, device=params[0].device)
    return [p.to(torch.float16) for p in params]


def _flat_weights(situation: Situation, weights: list[Tensor]) -> Tensor | None:
    """The buffer that holds the weights on a GPU; None in bfloat16, because
    `torch.backends.cudnn.is_acceptable` refuses it (`nn.RNNBase.flatten_parameters`)."""
    if weights[0].dtype is torch.bfloat16:
        return None
    device = weights[0].device
    recorder = situation.recorder
    with recorder.paused():
        size = sum(w.numel() for w in weights)
        flat = torch.empty((size,), dtype=weights[0].dtype, device=device)
        recorder.storages.own_view(flat)
    weight_buf = torch.empty((0,), dtype=weights[0].dtype, device=device)
    return weight_buf.set_(cast(Any, flat.untyped_storage()))


def _dropout_state(situation: Situation, x: Tensor) -> Tensor:
    """cuDNN's generator state: 24 bytes for each of 2048 threads of each SM."""
    with situation.recorder.paused():
        state = x.new_empty(((situation.gpu.units or 1) * 2048 * 24,), dtype=torch.uint8)
    situation.recorder.storages.own(state, "buffer")
    return state


@shape_rule("_cudnn_rnn")
def cudnn_rnn(
    situation: Situation,
    x: Tensor,
    weight: list[Tensor],
    weight_stride0: int,
    weight_buf: Tensor | None,
    hx: Tensor,
    cx: Tensor | None,
    mode: int,
    hidden: int,
    projected: int,
    num_layers: int,
    batch_first: bool,
    dropout: float,
    train: bool,
    bidirectional: bool,
    *rest: object,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Output (steps outermost in memory, whatever `batch_first`), last states, and the reserve.

    The size of the reserve is derived from recordings. It holds, per layer and step, the gates, the
    cell and the candidate (5 tensors of the hidden size in an LSTM, 6 in a GRU). It also holds a
    mask between layers with dropout, and the last states.
    """
    directions = 2 if bidirectional else 1
    steps, batch = (x.shape[1], x.shape[0]) if batch_first else (x.shape[0], x.shape[1])
    width = (projected or hidden) * directions
    out = x.new_empty((steps, batch, width))
    out = out.transpose(0, 1) if batch_first else out
    cy = x.new_empty((0,)) if cx is None else torch.empty_like(cx)
    reserve = 0
    if train:
        saved = {2: 5, 3: 6}.get(mode, 2) * num_layers
        saved += num_layers - 1 if dropout > 0 else 0
        state_bytes = batch * hidden * directions * 4
        reserve = saved * steps * state_bytes + num_layers * state_bytes + 256
    reserved = x.new_empty((reserve,), dtype=torch.uint8)
    if weight_buf is None:  # the weights are copied into a new buffer
        flat = x.new_empty((sum(w.numel() for w in weight),))
    else:
        flat = weight_buf.detach()
    return out, torch.empty_like(hx), cy, reserved, flat


@shape_rule("_cudnn_rnn_backward")
def cudnn_rnn_backward(
    situation: Situation,
    x: Tensor,
    weight: list[Tensor],
    weight_stride0: int,
    weight_buf: Tensor | None,
    hx: Tensor,
    cx: Tensor | None,
    output: Tensor,
    *rest: object,
) -> tuple[Tensor, Tensor, Tensor | None, list[Tensor]]:
    """Gradients of the input, the states and every weight, in their shapes."""
    grad_cx = None if cx is None else torch.empty_like(cx)
    grad_x = x.new_empty(x.shape)  # like the output, steps outermost in memory
    if output.stride(0) < output.stride(1):
        grad_x = x.new_empty((x.shape[1], x.shape[0], x.shape[2])).transpose(0, 1)
    return grad_x, torch.empty_like(hx), grad_cx, [torch.empty_like(w) for w in weight]
