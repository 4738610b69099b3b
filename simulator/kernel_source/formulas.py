"""Pointwise ops as Triton expressions. Half precision is computed in fp32, as in eager kernels and
Inductor's, and values remain in fp32 between the ops of a kernel. An op without a rule may have a
simple expression in its traits."""

from __future__ import annotations

from simulator.errors import InputError
from simulator.kernel_source.element import Element, rule
from simulator.kernel_source.terms import kind

_SQRT_HALF, _SQRT_2_PI, _DENSITY = "0.7071067811865476", "0.7978845608028654", "0.3989422804014327"


def _scaled(e: Element, name: str, factor: str) -> str:
    by = e.arg(factor, 1)
    return e[name] if by == 1 else f"{by!r} * {e[name]}"


@rule("add")
def add(e: Element) -> str:
    return f"{e['self']} + {_scaled(e, 'other', 'alpha')}"


@rule("sub")
def sub(e: Element) -> str:
    return f"{e['self']} - {_scaled(e, 'other', 'alpha')}"


@rule("rsub")
def rsub(e: Element) -> str:
    return f"{e['other']} - {_scaled(e, 'self', 'alpha')}"


@rule("addcmul")
def addcmul(e: Element) -> str:
    return f"{e['self']} + {_scaled(e, 'tensor1', 'value')} * {e['tensor2']}"


@rule("lerp")
def lerp(e: Element) -> str:
    x = e["self"]
    return f"{x} + {e['weight']} * ({e['end']} - {x})"


@rule("pow")
def pow_(e: Element) -> str:
    x, exponent = e["self"], e.arg("exponent")
    by_exponent = {2: f"{x} * {x}", 3: f"{x} * {x} * {x}", 1: x, -1: f"1.0 / {x}"}
    if exponent in by_exponent:
        return by_exponent[exponent]
    e.fill("self", "positive")
    roots = {0.5: f"tl.sqrt({x})", -0.5: f"tl.rsqrt({x})"}
    return roots.get(exponent, f"tl.exp2(tl.log2({x}) * {e['exponent']})")


@rule("gelu")
def gelu(e: Element) -> str:
    x = e["self"]
    if e.arg("approximate", "none") == "tanh":
        inner = f"2.0 * {_SQRT_2_PI} * ({x} + 0.044715 * {x} * {x} * {x})"
        return f"{x} / (1.0 + tl.exp(-{inner}))"  # ½(1 + tanh z) is the sigmoid of 2z
    return f"0.5 * {x} * (1.0 + tl.erf({x} * {_SQRT_HALF}))"


@rule("gelu_backward")
def gelu_backward(e: Element) -> str:
    g, x = e["grad_output"], e["self"]
    if e.arg("approximate", "none") == "tanh":
        inner = f"2.0 * {_SQRT_2_PI} * ({x} + 0.044715 * {x} * {x} * {x})"
        half = f"(1.0 / (1.0 + tl.exp(-{inner})))"
        slope = f"2.0 * {_SQRT_2_PI} * (1.0 + 0.134145 * {x} * {x})"
        return f"{g} * ({half} + {x} * {half} * (1.0 - {half}) * {slope})"
    normal = f"0.5 * (1.0 + tl.erf({x} * {_SQRT_HALF}))"
    return f"{g} * ({normal} + {x} * tl.exp(-0.5 * {x} * {x}) * {_DENSITY})"


@rule("softplus")
def softplus(e: Element) -> str:
    x, beta, limit = e["self"], e.arg("beta", 1), e.arg("threshold", 20)
    soft = f"tl.log(1.0 + tl.exp({x} * {beta!r})) / {beta!r}"
    return f"tl.where({x} * {beta!r} > {limit!r}, {x}, {soft})"


@rule("softplus_backward")
def softplus_backward(e: Element) -> str:
    g, x, beta = e["grad_output"], e["self"], e["beta"]
    return f"tl.where({x} * {beta} > {e['threshold']}, {g}, {g} / (1.0 + tl.exp(-{x} * {beta})))"


@rule("leaky_relu")
def leaky_relu(e: Element) -> str:
    return f"tl.where({e['self']} > 0, {e['self']}, {e['self']} * {e.arg('negative_slope', 0.01)})"


@rule("hardtanh")
def hardtanh(e: Element) -> str:
    low, high = e.arg("min_val", -1.0), e.arg("max_val", 1.0)
    return f"tl.minimum(tl.maximum({e['self']}, {float(low)!r}), {float(high)!r})"


@rule("hardtanh_backward")
def hardtanh_backward(e: Element) -> str:
    x, low, high = e["self"], e["min_val"], e["max_val"]
    return f"tl.where(({x} > {low}) & ({x} < {high}), {e['grad_output']}, 0.0)"


@rule("threshold_backward")
def threshold_backward(e: Element) -> str:
    return f"tl.where({e['self']} > {e['threshold']}, {e['grad_output']}, 0.0)"


@rule("native_dropout_backward")
def dropout_backward(e: Element) -> str:
    return f"{e['grad_output']} * {e['mask']} * {e['scale']}"


@rule("clamp", "clamp_min", "clamp_max")
def clamp(e: Element) -> str:
    text = e["self"]
    if e.has("min") or e.arg("min") is not None:
        text = f"tl.maximum({text}, {e['min']})"
    if e.has("max") or e.arg("max") is not None:
        text = f"tl.minimum({text}, {e['max']})"
    return text


@rule("where")
def where(e: Element) -> str:
    return f"tl.where({e['condition']}, {e['self']}, {e['other']})"


@rule("masked_fill")
def masked_fill(e: Element) -> str:
    return f"tl.where({e['mask']}, {e['value']}, {e['self']})"


@rule("bitwise_not")
def bitwise_not(e: Element) -> str:
    flags = kind(e.layout("self").dtype) == "bool"
    return f"{e['self']} == 0" if flags else f"~{e['self']}"


@rule("to_copy", "copy", "type_as")
def to_copy(e: Element) -> str:
    source = "src" if e.has("src") else "self"
    before, after = kind(e.layout(source).dtype), kind(e.op.outputs[0][1].dtype)
    if before == after:
        return e[source]  # half precision stays fp32 until it is stored
    types = {"float": "tl.float32", "int": "tl.int64"}
    return f"{e[source]} != 0" if after == "bool" else f"{e[source]}.to({types[after]})"


@rule("native_batch_norm", "cudnn_batch_norm")
def batch_norm(e: Element) -> str:
    """Inference only: a factor and a summand for each channel."""
    if e.arg("training", False) or e.place:
        raise InputError(f"{e.op.name} in training writes the running statistics")
    channel = (e.at[1],)
    names = ("running_mean", "running_var", "weight", "bias")
    parts = {name: e.use(e.term(name, channel)) for name in names if e.has(name)}
    e.fill("running_var", "positive")
    eps = e.arg("eps", e.arg("epsilon", 1e-5))
    text = f"({e['input']} - {parts['running_mean']}) * tl.rsqrt({parts['running_var']} + {eps!r})"
    if "weight" in parts:
        text += f" * {parts['weight']}"
    return f"{text} + {parts['bias']}" if "bias" in parts else text
