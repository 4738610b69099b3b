"""Norms of rows and their gradients, with statistics that other kernels may read."""

from __future__ import annotations

from simulator.errors import InputError
from simulator.kernel_source.element import Element, rule
from simulator.kernel_source.indices import constant
from simulator.kernel_source.layouts import At
from simulator.kernel_source.rows import Rows, divided, let, of_input, over_row
from simulator.kernel_source.terms import Term


def _statistic(e: Element, place: int, row_at: At) -> str:
    """The mean or scale of a row, computed by this kernel or another."""
    value, layout = e.op.outputs[place]
    at = (*row_at, *(constant(size - size) for size in layout.shape[len(row_at) :]))
    return e.use(e.writer.value(value, layout, at, "mean" if place == 1 else "scale"))


def _affine(e: Element, text: str, *names: str) -> str:
    inner = e.at[len(Rows(e.op).row_dims) :]
    for sign, name in zip("*+", names, strict=False):
        if e.has(name):
            text += f" {sign} {e.use(e.term(name, inner))}"
    return text


@rule("native_layer_norm")
def layer_norm(e: Element) -> str:
    row_at = tuple(e.at[: len(Rows(e.op).row_dims)])
    if e.place == 0:
        mean, scale = (_statistic(e, place, row_at) for place in (1, 2))
        return _affine(e, f"({e['input']} - {mean}) * {scale}", "weight", "bias")
    if e.place == 1:
        return divided(e, over_row(e, "sum", row_at, of_input(e, "input"), "summed"))
    mean = _statistic(e, 1, row_at)

    def each(_: Rows, at: At) -> Term:
        x = e.term("input", at)
        away = let(e, "away", [x], f"{x.text} - {mean}")
        return let(e, "apart", [x], f"{away.text} * {away.text}")

    squares = over_row(e, "sum", row_at, each, "squares")
    return f"tl.rsqrt({divided(e, squares)} + {e.arg('eps', 1e-5)!r})"


@rule("fused_rms_norm")
def rms_norm(e: Element) -> str:
    row_at = tuple(e.at[: len(Rows(e.op).row_dims)])
    if e.place == 0:
        return _affine(e, f"{e['input']} * {_statistic(e, 1, row_at)}", "weight")

    def each(_: Rows, at: At) -> Term:
        x = e.term("input", at)
        return let(e, "squared", [x], f"{x.text} * {x.text}")

    squares = over_row(e, "sum", row_at, each, "squares")
    finest = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
    eps = e.arg("eps", finest.get(e.layout("input").dtype, 2.0**-23))
    return f"tl.rsqrt({divided(e, squares)} + {eps!r})"


@rule("native_layer_norm_backward", "fused_rms_norm_backward")
def norm_backward(e: Element) -> str:
    """The gradient of the input; those of weight and bias are sums over rows."""
    if e.place:
        raise InputError(
            f"{e.op.name} sums the gradients of weight and bias over rows, which cannot be exported"
        )
    rows = Rows(e.op)
    row_at = tuple(e.at[: len(rows.row_dims)])
    centred = e.has("mean")
    e.fill("rstd", "positive")

    def of_row(name: str) -> str:
        layout = e.layout(name)
        none = tuple(constant(size - size) for size in layout.shape[len(row_at) :])
        return e.use(e.term(name, (*row_at, *none)))

    mean, scale = of_row("mean") if centred else "", of_row("rstd")
    e.fill("rstd", "positive")

    def parts(at: At) -> tuple[Term, Term]:
        x, g = e.term("input", at), e.term("grad_out" if e.has("grad_out") else "grad_output", at)
        away = f"({x.text} - {mean})" if centred else x.text
        scaled = let(e, "normal", [x], f"{away} * {scale}")
        if e.has("weight"):
            w = e.term("weight", at[len(row_at) :])
            g = let(e, "weighted", [g, w], f"{g.text} * {w.text}")
        return g, scaled

    def along(_: Rows, at: At) -> Term:
        g, scaled = parts(at)
        return let(e, "along", [g, scaled], f"{g.text} * {scaled.text}")

    projected = divided(e, over_row(e, "sum", row_at, along, "projected"))
    shift = ""
    if centred:
        shift = f" - {divided(e, over_row(e, 'sum', row_at, lambda _, at: parts(at)[0], 'pulled'))}"
    g, scaled = map(e.use, parts(e.at))
    return f"({g}{shift} - {scaled} * ({projected})) * {scale}"
