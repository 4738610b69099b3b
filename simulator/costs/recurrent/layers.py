"""Recurrent layers as cuDNN runs them: `nn.LSTM`, `nn.GRU` and `nn.RNN`.

A layer multiplies its inputs of all steps by W_ih at once; only the product with W_hh waits for the
previous step. The recurrence is one Work per layer and direction; the lowering turns it into
kernels, whose number depends on whether cuDNN keeps W_hh on chip.
"""

from __future__ import annotations

from math import gcd
from typing import Any, NamedTuple

from msgspec.structs import replace

from simulator.costs.kernels.launches import clone, fill, fill_like, pointwise, reduction
from simulator.costs.movement.copies import move
from simulator.costs.registry import Engine, Work, cost
from simulator.records import Signature, Tensor

_MODES = (("relu", 1), ("tanh", 1), ("lstm", 4), ("gru", 3))
"""Kind and gates by cuDNN's mode number (ATen/native/cudnn/RNN.cpp)."""


class _Layer(NamedTuple):
    """`rows` is steps · batch (fewer for packed sequences); `out` is the width of h."""

    kind: str
    gates: int
    rows: int
    b: int
    steps: int
    inputs: int
    hidden: int
    out: int
    bias: bool
    reverse: bool
    train: bool
    itemsize: int
    engine: Engine
    dtype: str

    @property
    def gate_bytes(self) -> int:
        return self.rows * self.gates * self.hidden * self.itemsize

    @property
    def state_bytes(self) -> int:
        return self.rows * self.out * self.itemsize

    @property
    def recurrent_weight_bytes(self) -> int:
        projection = self.hidden * self.out if self.out != self.hidden else 0
        return (self.gates * self.hidden * self.out + projection) * self.itemsize

    @property
    def recurrent_flops(self) -> int:
        """h [rows, out] @ W_hhᵀ [out, gates·hidden], and the projection hidden -> out if the layer
        has one."""
        projection = self.hidden * self.out if self.out != self.hidden else 0
        return 2 * self.rows * (self.gates * self.hidden * self.out + projection)


@cost("aten._cudnn_rnn.default")
def cudnn_rnn(op: Signature) -> tuple[Work, ...]:
    """For each layer and direction: the product of the inputs, then the recurrence. Before them the
    weights are copied into one buffer, if they are not views of it already."""
    launches = [*_steps_first(op, op["input"])]
    weights = op.tensors("weight")
    if weights and op.get("weight_buf") is None:
        launches.append(fill(sum(w.numel for w in weights), op["input"].itemsize))
        launches += [clone(w) for w in weights]
    layers = _layers(op)
    for index, layer in enumerate(layers):
        width = layer.gates * layer.hidden
        product = _gemm(layer, layer.rows, width, layer.inputs, transb=True, bias=layer.bias)
        launches.append(replace(product, family="rnn_input"))
        launches.append(_recurrence(layer, "fwd"))
        if _drops_after(op, layers, index):
            launches.append(_dropout(op, layer))
    return tuple(launches)


@cost("aten._cudnn_rnn_backward.default")
def cudnn_rnn_backward(op: Signature) -> tuple[Work, ...]:
    """For each layer and direction, in reverse order, the recurrence and dX; then all weight
    gradients.

    ATen runs the two parts one after the other, and first fills missing gradients with zeros
    (`_cudnn_rnn_backward`, ATen/native/cudnn/RNN.cpp).
    """
    wants_input, _, _, wants_weight = op.arg("output_mask", [True, True, True, True])
    layers = _layers(op)
    directions = 2 if op.arg("bidirectional", False) else 1
    states = ("grad_hy", "grad_cy") if layers[0].kind == "lstm" else ("grad_hy",)
    launches = [fill_like(op["hx"]) for name in states if op.get(name) is None and op.get("hx")]
    x, grad = op["input"], op.get("grad_output")
    launches += _steps_first(op, x)
    launches += _steps_first(op, grad) if grad else ()
    backwards = list(reversed(list(enumerate(layers))))
    for index, layer in backwards:
        if _drops_after(op, layers, index):
            launches.append(_dropout(op, layer))
        launches.append(_recurrence(layer, "bwd"))
        if wants_input or index >= directions:
            product = _gemm(layer, layer.rows, layer.inputs, layer.gates * layer.hidden)
            launches.append(replace(product, family="rnn_input"))
            if directions == 2 and not layer.reverse:  # sum of both directions' gradients
                n = layer.rows * layer.inputs
                launches.append(pointwise(n, 2 * n * layer.itemsize, n * layer.itemsize, inputs=2))
    if wants_weight:
        weights = sum(t.numel for t in op.tensors("weight"))
        launches += [*_steps_first(op, x), *((fill(weights, x.itemsize),) if weights else ())]
        launches += [_bias_gradients(layer) for _, layer in backwards if layer.bias]
        for _, layer in backwards:
            width = layer.gates * layer.hidden
            launches.append(_gemm(layer, width, layer.inputs, layer.rows, transa=True))
            for rows in (layer.b, layer.rows - layer.b):  # the first state, then all others
                launches += [_gemm(layer, width, layer.out, rows, transa=True)] if rows else []
    return tuple(launches)


def _steps_first(op: Signature, x: Tensor) -> tuple[Work, ...]:
    """The copy to [steps, batch, features], which cuDNN requires; no kernel if the steps already
    come first."""
    if not op.arg("batch_first", False) or len(x.shape) < 3:
        return ()
    (b, steps, width), (batch_step, time_step, feature_step) = x.shape, x.stride
    source = Tensor((steps, b, width), x.dtype, (time_step, batch_step, feature_step))
    target = Tensor((steps, b, width), x.dtype, (b * width, width, 1))
    same_layout = b == 1 or steps == 1 or source.stride == target.stride
    return () if same_layout else move(source, target)


def _bias_gradients(layer: _Layer) -> Work:
    """Sum of the gates' gradients over all steps, computed serially by a few threads."""
    width = layer.gates * layer.hidden
    written = 2 * width * layer.itemsize
    work = reduction(width, layer.rows, layer.gate_bytes, written, inner=width)
    dims = {
        "variant": "recurrent",
        "elements": width,
        "steps": layer.rows,
        "gates": layer.gates,
        "item_bytes": layer.itemsize,
    }
    return replace(work, dims=dims)


@cost("aten._cudnn_rnn_flatten_weight.default")
def flatten_weight(op: Signature) -> tuple[Work, ...]:
    """Fill the buffer with zeros, then copy each weight."""
    return fill_like(op.out), *(clone(weight) for weight in op.tensors("weight_arr"))


def _layers(op: Signature) -> list[_Layer]:
    """Layers in cuDNN's order: both directions of a layer, then the next layer."""
    x, hidden, mode = op["input"], int(op.args["hidden_size"]), int(op.args["mode"])
    kind, gates = _MODES[mode]
    out = op.arg("proj_size", 0) or hidden
    directions = 2 if op.arg("bidirectional", False) else 1
    sizes = op.arg("batch_sizes", [])
    if sizes:  # packed: [rows, inputs], `sizes` sequences alive at each step
        rows, b, steps = x.shape[0], sizes[0], len(sizes)
    else:
        b, steps = x.shape[:2] if op.arg("batch_first", False) else x.shape[1::-1]
        rows = b * steps
    engine, dtype = _unit(x.dtype)
    return [
        _Layer(
            kind,
            gates,
            rows,
            b,
            steps,
            x.shape[-1] if layer == 0 else directions * out,
            hidden,
            out,
            op.arg("weight_stride0", 4) >= 4,
            reverse,
            bool(op.arg("train", False)),
            x.itemsize,
            engine,
            dtype,
        )
        for layer in range(op.arg("num_layers", 1))
        for reverse in (False, True)[:directions]
    ]


def _unit(dtype: str) -> tuple[Engine, str]:
    """Engine and dtype of the products. cuDNN may use TF32 for float32
    (torch.backends.cudnn.allow_tf32, on by default)."""
    if dtype == "float64":
        return "vector", dtype
    return "tensor", "tf32" if dtype == "float32" else dtype


def _gemm(
    layer: _Layer,
    m: int,
    n: int,
    k: int,
    *,
    transa: bool = False,
    transb: bool = False,
    bias: bool = False,
) -> Work:
    added = 2 * n * layer.itemsize if bias else 0  # cuDNN's b_ih and b_hh
    return Work(
        "gemm",
        flops=2 * m * n * k,
        read_bytes=(m * k + k * n) * layer.itemsize + added,
        write_bytes=m * n * layer.itemsize,
        engine=layer.engine,
        dtype=layer.dtype,
        dims={
            "b": 1,
            "m": m,
            "n": n,
            "k": k,
            "transa": transa,
            "transb": transb,
            "align_bytes": _alignment(layer, m if transa else k, n, k if transb else n),
            "epilogue": None,  # the cell adds the bias
        },
    )


def _alignment(layer: _Layer, *widths: int) -> int:
    """The largest power of two, at most 16 bytes, that divides a row of each of these widths."""
    return gcd(16, *(width * layer.itemsize for width in widths))


def _recurrence(layer: _Layer, direction: str) -> Work:
    """Forward: reads the inputs' gates, writes h, and in training also the gates and c.

    Backward: reads these and the gradient of h, writes the gradient of the gates.
    """
    saved = layer.gate_bytes + (layer.state_bytes if layer.kind == "lstm" else 0)
    if direction == "fwd":
        read, write = layer.gate_bytes, layer.state_bytes + (saved if layer.train else 0)
    else:
        read, write = saved + layer.state_bytes, layer.gate_bytes
    dims: dict[str, Any] = {
        "kind": layer.kind,
        "b": layer.b,
        "steps": layer.steps,
        "hidden": layer.hidden,
        "input": layer.inputs,
        "gates": layer.gates,
        "train": layer.train,
        "direction": direction,
        "reverse": layer.reverse,
        "projection": layer.out,
    }
    return Work(
        "rnn",
        flops=layer.recurrent_flops,
        read_bytes=read + layer.recurrent_weight_bytes,
        write_bytes=write,
        engine=layer.engine,
        dtype=layer.dtype,
        instructions=10 * layer.rows * (layer.gates + 1) * layer.hidden,  # an exp for each gate
        dims=dims,
    )


def _drops_after(op: Signature, layers: list[_Layer], index: int) -> bool:
    """Whether dropout follows, as it does after both directions of each layer except the last."""
    directions = 2 if op.arg("bidirectional", False) else 1
    ends_layer = (index + 1) % directions == 0 and index + 1 < len(layers)
    return ends_layer and bool(op.arg("train", False)) and op.arg("dropout", 0.0) > 0


def _dropout(op: Signature, layer: _Layer) -> Work:
    nbytes = layer.state_bytes * (2 if op.arg("bidirectional", False) else 1)
    n = nbytes // layer.itemsize
    return pointwise(n, nbytes, nbytes, flops=2)
