"""Convolutions, forward and backward, as cuDNN and ATen's depthwise kernels run them.

Every direction costs 2·n·spatial·kernel·cin·cout/groups FLOPs, since each product of the forward
pass appears once in each gradient. `torch.utils.flop_counter` agrees except for the weight gradient
of a grouped convolution, which it counts as dense: `groups` times too many.
"""

from __future__ import annotations

from math import prod
from typing import Any

from msgspec.structs import replace

from simulator.costs.compiled_traits import Traits
from simulator.costs.curves import curve_rule
from simulator.costs.kernels.elementwise import elementwise
from simulator.costs.reductions.dimensions import reduction
from simulator.costs.registry import Engine, Work, cost
from simulator.records import Signature, Tensor


@cost("aten.convolution.default", traits=Traits(autocast="low"))
@cost(
    "aten._convolution.default",
    traits=Traits(autocast="low", overloads=("default", "deprecated")),
)
@cost(
    "aten.convolution_overrideable.default",
    "aten.cudnn_convolution.default",
    "aten.cudnn_convolution_transpose.default",
    "aten._conv_depthwise2d.default",
    "aten.conv_depthwise3d.default",
    "aten._slow_conv2d_forward.default",
    "aten.slow_conv3d_forward.default",
    "aten.slow_conv_dilated2d.default",
    "aten.slow_conv_dilated3d.default",
    "aten.slow_conv_transpose2d.default",
    "aten.slow_conv_transpose3d.default",
)
def convolution(op: Signature) -> tuple[Work, ...]:
    """x [n, cin, *spatial] with weight [cout, cin/groups, *kernel].

    Transposed: weight [cin, cout/groups, *kernel]. cuDNN runs it as the data gradient of the
    opposite convolution, whose dims are used here.
    """
    x, weight = _input(op), op["weight"]
    is_transposed = _transposed(op)
    forward = _direction_work(op, "dgrad" if is_transposed else "fwd", x, weight, op.out)
    bias = op.get("bias")
    if bias is None or forward.dims["native"]:  # ATen's depthwise kernel adds the bias itself
        return (forward,) if bias is None else (_with_read(forward, bias.nbytes),)
    return forward, *_bias_added(op.out, bias)


def _bias_added(out: Tensor, bias: Tensor) -> tuple[Work, ...]:
    """An addition in place of one number per channel (ATen/native/cudnn/ConvShared.cpp,
    `reshape_bias`), which computes offsets."""
    strides = tuple(int(dim == 1) for dim in range(len(out.shape)))
    each = Tensor(out.shape, bias.dtype, strides, bias.device)
    add = Signature("aten.add_.Tensor", (out, each), (out,), ("self", "other"), {}, (0, 1, 0))
    return elementwise(add, (1, 1))


@cost("aten.cudnn_convolution_relu.default", "aten.cudnn_convolution_add_relu.default")
def fused_convolution(op: Signature) -> Work:
    """Bias, residual and ReLU in the epilogue of one kernel."""
    extra = sum(t.nbytes for name in ("bias", "z") if (t := op.get(name)))
    return _with_read(_direction_work(op, "fwd", op["self"], op["weight"], op.out), extra)


@cost("aten.convolution_backward.default", "aten.convolution_backward_overrideable.default")
def convolution_backward(op: Signature) -> tuple[Work, ...]:
    """The gradients of input, weight and bias that `output_mask` selects.

    ATen's depthwise kernels compute the weight's gradient first.
    """
    grad, x, weight = op["grad_output"], op["input"], op["weight"]
    wants_input, wants_weight, wants_bias = op.arg("output_mask", [True, True, False])
    gradients: list[Work] = []
    if wants_input:
        direction = "fwd" if _transposed(op) else "dgrad"
        gradients.append(_direction_work(op, direction, grad, weight, x))
    if wants_weight:
        gradients.append(_direction_work(op, "wgrad", grad, x, weight))
    if gradients and gradients[0].dims["native"]:
        gradients.reverse()
    return (*gradients, *_bias_gradient(op, grad)) if wants_bias else tuple(gradients)


def _bias_gradient(op: Signature, grad: Tensor) -> tuple[Work, ...]:
    """Gradient of the bias: `grad_output.sum` over all dimensions except the channels."""
    over = [dim for dim in range(len(grad.shape)) if dim != 1]
    channels = Tensor(grad.shape[1:2], grad.dtype, (1,), grad.device)
    call = replace(
        op,
        name="aten.sum.dim_IntList",
        inputs=(grad,),
        outputs=(channels,),
        names=("self",),
        args={"dim": over},
        aliases=(),
    )
    return reduction(call, (1, 1))


def _direction_work(op: Signature, direction: str, a: Tensor, b: Tensor, out: Tensor) -> Work:
    """One direction: reads `a` and `b`, writes `out`."""
    dims = _dims(op, direction)
    engine, dtype = _unit(a.dtype, depthwise=dims["depthwise"])
    flops = _flops(op)
    return Work(
        "conv",
        flops=flops,
        read_bytes=a.nbytes + b.nbytes,
        write_bytes=out.numel * out.itemsize,
        engine=engine,
        dtype=dtype,
        instructions=flops // 2 if engine == "vector" else 0,
        dims=dims,
    )


def _unit(dtype: str, *, depthwise: bool) -> tuple[Engine, str]:
    """Engine and dtype: cuDNN's float32 convolutions use TF32 by default
    (torch.backends.cudnn.allow_tf32).

    A depthwise convolution contains no matrix product for tensor cores: it sums in float32.
    """
    if dtype == "float64":
        return "vector", dtype
    if depthwise:
        return "vector", "float32"
    return "tensor", "tf32" if dtype == "float32" else dtype


def _input(op: Signature) -> Tensor:
    return op.get("input") or op["self"]


def _transposed(op: Signature) -> bool:
    return bool(op.arg("transposed", False)) or "transpose" in op.name


def _result(op: Signature) -> Tensor:
    """The output of the forward pass; in a backward pass, its gradient."""
    return op.get("grad_output") or op.out


def _groups(op: Signature) -> int:
    """The `groups` argument; for depthwise overloads without this argument, one for each input
    channel."""
    if "groups" in op.args:
        return op.args["groups"]
    return _input(op).shape[1] if "depthwise" in op.name else 1


def _flops(op: Signature) -> int:
    """2 · n · positions · prod(weight): each position of the smaller image is multiplied by every
    weight.

    The positions are those of the output, or of the input of a transposed convolution.
    """
    x, weight = _input(op), op["weight"]
    positions = (x if _transposed(op) else _result(op)).shape[2:]
    return 2 * x.shape[0] * prod(positions) * prod(weight.shape)


def _dims(op: Signature, direction: str) -> dict[str, Any]:
    """Coordinates of the equivalent convolution without transposition."""
    x, weight, result, groups = _input(op), op["weight"], _result(op), _groups(op)
    before, after = (result, x) if _transposed(op) else (x, result)
    spatial = len(x.shape) - 2
    channels_last = _channels_last(x) or _channels_last(weight)
    cin, cout = before.shape[1], after.shape[1]
    depthwise = groups > 1 and groups == cin and cout % groups == 0
    return {
        "direction": direction,
        "n": x.shape[0],
        "cin": cin,
        "cout": cout,
        "spatial_in": before.shape[2:],
        "spatial_out": after.shape[2:],
        "kernel": weight.shape[2:],
        "stride": _per_dim(op.arg("stride", 1), spatial),
        "dilation": _per_dim(op.arg("dilation", 1), spatial),
        "groups": groups,
        "depthwise": depthwise,
        "channels_last": channels_last,
        "dims": spatial,
        "transposed": _transposed(op),
        "native": depthwise
        and not (
            channels_last
            or _transposed(op)
            or "cudnn" in op.name
            or _is_cudnn_depthwise(op, x, weight)
        ),
    }


@curve_rule("conv")
def convolution_curve(work: Work) -> str:
    """Name of the curve: one per direction, except for depthwise convolutions."""
    return "conv" if work.dims["depthwise"] else f"conv_{work.dims['direction']}"


def _is_cudnn_depthwise(op: Signature, x: Tensor, weight: Tensor) -> bool:
    """Whether cuDNN runs a float16 depthwise convolution in NCHW. ATen runs all others that are not
    channels last (Convolution.cpp, `use_cudnn_depthwise`)."""
    spatial = len(x.shape) - 2
    strides = set(_per_dim(op.arg("stride", 1), spatial))
    dilated = set(_per_dim(op.arg("dilation", 1), spatial)) != {1}
    if x.dtype != "float16" or spatial > 2 or dilated or len(strides) > 1 or x.shape[1] < 32:
        return False
    (stride,), sides, wide = strides, set(weight.shape[2:]), x.shape[-1]
    if spatial == 1:
        return stride == 1
    if len(sides) > 1 or not sides & {1, 3, 5} or wide < 7 or stride > 2:
        return False
    if stride == 1:
        return True
    n, channels = x.shape[:2]
    if sides == {1}:
        return wide <= 28 if n == 1 else n <= 16 and channels >= 128 and wide <= 7
    return n == 1 or channels >= 512 or (channels >= 256 and wide >= 28)


def _channels_last(x: Tensor) -> bool:
    """Whether the strides grow from channels over space to images, as in channels last
    (`is_channels_last_strides_2d_s4`, c10/core/MemoryFormat.h)."""
    if len(x.shape) < 4 or x.contiguous:
        return False
    least = 0
    for dim in (1, *range(len(x.shape) - 1, 1, -1), 0):
        if x.stride[dim] < least:
            return False
        least = x.stride[dim] * x.shape[dim]
    return True


def _per_dim(value: int | list[int] | tuple[int, ...], spatial: int) -> tuple[int, ...]:
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * spatial if len(values) == 1 else values


def _with_read(work: Work, more_bytes: int) -> Work:
    return Work(
        work.family,
        work.flops,
        work.read_bytes + more_bytes,
        work.write_bytes,
        work.engine,
        work.dtype,
        work.instructions,
        work.dims,
    )
