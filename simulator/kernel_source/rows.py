"""Ops with sums over rows: sums and means, norms, softmax, their gradients, a loss. Each sum is in
fp32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.errors import InputError
from simulator.kernel_source.group import GroupOp
from simulator.kernel_source.indices import Index, constant, variable
from simulator.kernel_source.layouts import At, Layout, digits, number
from simulator.kernel_source.sizes import Size, product
from simulator.kernel_source.terms import Term
from simulator.kernel_source.writer import Element, Writer, rule

_SOURCES = {"native_layer_norm": "input", "fused_rms_norm": "input", "softmax": "self",
            "log_softmax": "self", "softmax_backward_data": "output",
            "log_softmax_backward_data": "output", "native_layer_norm_backward": "input",
            "fused_rms_norm_backward": "input", "sum": "self", "mean": "self", "amax": "self",
            "amin": "self", "logsumexp": "self", "nll_loss_forward": "target"}  # fmt: skip
"""The operand whose elements are the rows, by op."""


def reduced(op: GroupOp) -> tuple[Layout, tuple[int, ...]] | None:
    """The layout that an op reduces and over which dimensions; None of an op without a sum."""
    if op.short not in _SOURCES:
        return None
    place = op.names.index(_SOURCES[op.short])
    seen = op.inputs[place][1]
    rank = len(seen.shape)
    if "normalized_shape" in op.args:
        return seen, tuple(range(rank - len(op.args["normalized_shape"]), rank))
    dims = op.args.get("dim")
    if dims is None or dims == []:
        return seen, tuple(range(rank))
    dims = [dims] if isinstance(dims, int) else dims
    return seen, tuple(sorted(int(dim) % rank for dim in dims))


class Rows:
    """The rows of an op: `rows` results, of `cols` elements each."""

    def __init__(self, op: GroupOp) -> None:
        found = reduced(op)
        assert found is not None
        self.op, (self.seen, self.dims) = op, found
        shape = self.seen.shape
        self.kept = tuple(d for d in range(len(shape)) if d not in self.dims)
        self.outer = tuple(shape[d] for d in self.kept)
        self.inner = tuple(shape[d] for d in self.dims)
        self.rows = product(self.outer, self.seen.cases)
        self.cols = product(self.inner, self.seen.cases)

    @property
    def beside(self) -> bool:
        """Do the elements of a row lie beside each other?"""
        return not self.dims or self.seen.stride[self.dims[-1]].is_(1)

    def at(self, row: Index, col: Index) -> At:
        """The element `col` of a row."""
        return self.element(digits(row, self.outer), col)

    def element(self, kept: At, col: Index) -> At:
        """The element `col` of the row that the kept dimensions name."""
        found = dict(zip(self.kept, kept, strict=True))
        found |= dict(zip(self.dims, digits(col, self.inner), strict=True))
        return tuple(found[d] for d in range(len(found)))


def _over_row(
    e: Element, how: str, kept: At, each: Callable[[Rows, At], Term], name: str
) -> str:  # fmt: skip
    """A sum of the row that the kept dimensions name, which must be the kernel's own."""
    rows = Rows(e.op)
    writer = e.writer
    if writer.row is None or number(kept, rows.outer, rows.seen.cases) != writer.row:
        raise InputError(f"{e.op.name} is summed over other rows than the kernel's")
    if rows.cols != writer.cols:
        raise InputError(f"{e.op.name} is summed over rows of another length than the kernel's")
    col = variable("c", rows.cols)
    found = writer.over_row(name, how, lambda: each(rows, rows.element(kept, col)),
                            (e.op.number, name))  # fmt: skip
    return e.use(found)


def _kept(e: Element) -> At:
    """The row of an element of an output as long as the source."""
    return tuple(e.at[d] for d in Rows(e.op).kept)


def _input(e: Element, name: str) -> Callable[[Rows, At], Term]:
    return lambda _, at: e.term(name, at)


def _result_row(e: Element) -> At:
    """The row of an element of a sum's output."""
    rows = Rows(e.op)
    if len(e.at) == len(rows.seen.shape) and (e.arg("keepdim", False) or not rows.dims):
        return tuple(e.at[d] for d in rows.kept)
    return e.at


def _divided(e: Element, text: str) -> str:
    return f"{text} / {e.writer.names.text(Rows(e.op).cols)}"


@rule("sum", "mean", "amax", "amin")
def total(e: Element) -> str:
    how = {"amax": "max", "amin": "min"}.get(e.op.short, "sum")
    found = _over_row(e, how, _result_row(e), _input(e, "self"), e.op.short)
    return _divided(e, found) if e.op.short == "mean" else found


def _let(e: Element, name: str, parts: list[str | Term], text: str) -> Term:
    """A line inside a row's sum."""
    depends = frozenset({"r", "c"})
    return e.writer.let(name, text, depends, (e.op.number, name, tuple(map(str, parts))))


def _exponentials(e: Element, kept: At) -> tuple[str, str]:
    most = _over_row(e, "max", kept, _input(e, "self"), "most")

    def each(_: Rows, at: At) -> Term:
        x = e.term("self", at)
        return _let(e, "power", [x], f"tl.exp({x.text} - {most})")

    return most, _over_row(e, "sum", kept, each, "powers")


@rule("softmax")
def softmax(e: Element) -> str:
    most, powers = _exponentials(e, _kept(e))
    return f"tl.exp({e['self']} - {most}) / {powers}"


@rule("log_softmax")
def log_softmax(e: Element) -> str:
    most, powers = _exponentials(e, _kept(e))
    return f"{e['self']} - {most} - tl.log({powers})"


@rule("logsumexp")
def logsumexp(e: Element) -> str:
    most, powers = _exponentials(e, _result_row(e))
    return f"{most} + tl.log({powers})"


@rule("softmax_backward_data", "log_softmax_backward_data")
def softmax_backward(e: Element) -> str:
    logarithm = e.op.short.startswith("log")

    def each(_: Rows, at: At) -> Term:
        g = e.term("grad_output", at)
        if logarithm:
            return g
        y = e.term("output", at)
        return _let(e, "part", [g, y], f"{g.text} * {y.text}")

    whole = _over_row(e, "sum", _kept(e), each, "whole")
    if logarithm:
        return f"{e['grad_output']} - tl.exp({e['output']}) * {whole}"
    return f"{e['output']} * ({e['grad_output']} - {whole})"


def _statistic(e: Element, place: int, kept: At) -> str:
    """Mean or scale of a row: computed here, or by another kernel."""
    value, made = e.op.outputs[place]
    at = (*kept, *(constant(size - size) for size in made.shape[len(kept) :]))
    return e.use(e.writer.value(value, made, at, "mean" if place == 1 else "scale"))


def _affine(e: Element, text: str, *names: str) -> str:
    inner = e.at[len(Rows(e.op).kept) :]
    for sign, name in zip("*+", names, strict=False):
        if e.has(name):
            text += f" {sign} {e.use(e.term(name, inner))}"
    return text


@rule("native_layer_norm")
def layer_norm(e: Element) -> str:
    kept = tuple(e.at[: len(Rows(e.op).kept)])
    if e.place == 0:
        mean, scale = (_statistic(e, place, kept) for place in (1, 2))
        return _affine(e, f"({e['input']} - {mean}) * {scale}", "weight", "bias")
    if e.place == 1:
        return _divided(e, _over_row(e, "sum", kept, _input(e, "input"), "summed"))
    mean = _statistic(e, 1, kept)

    def each(_: Rows, at: At) -> Term:
        x = e.term("input", at)
        away = _let(e, "away", [x], f"{x.text} - {mean}")
        return _let(e, "apart", [x], f"{away.text} * {away.text}")

    squares = _over_row(e, "sum", kept, each, "squares")
    return f"tl.rsqrt({_divided(e, squares)} + {e.arg('eps', 1e-5)!r})"


@rule("fused_rms_norm")
def rms_norm(e: Element) -> str:
    kept = tuple(e.at[: len(Rows(e.op).kept)])
    if e.place == 0:
        return _affine(e, f"{e['input']} * {_statistic(e, 1, kept)}", "weight")

    def each(_: Rows, at: At) -> Term:
        x = e.term("input", at)
        return _let(e, "squared", [x], f"{x.text} * {x.text}")

    squares = _over_row(e, "sum", kept, each, "squares")
    finest = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
    eps = e.arg("eps", finest.get(e.seen("input").dtype, 2.0**-23))
    return f"tl.rsqrt({_divided(e, squares)} + {eps!r})"


@rule("native_layer_norm_backward", "fused_rms_norm_backward")
def norm_backward(e: Element) -> str:
    """The gradient of the input; those of weight and bias are sums across rows."""
    if e.place:
        raise InputError(f"{e.op.name} sums the gradients of weight and bias across rows")
    rows = Rows(e.op)
    kept = tuple(e.at[: len(rows.kept)])
    centred = e.has("mean")
    e.fill("rstd", "positive")

    def of_row(name: str) -> str:
        seen = e.seen(name)
        none = tuple(constant(size - size) for size in seen.shape[len(kept) :])
        return e.use(e.term(name, (*kept, *none)))

    mean, scale = of_row("mean") if centred else "", of_row("rstd")
    e.fill("rstd", "positive")

    def parts(at: At) -> tuple[Term, Term]:
        x, g = e.term("input", at), e.term("grad_out" if e.has("grad_out") else "grad_output", at)
        away = f"({x.text} - {mean})" if centred else x.text
        scaled = _let(e, "normal", [x], f"{away} * {scale}")
        if e.has("weight"):
            w = e.term("weight", at[len(kept) :])
            g = _let(e, "weighted", [g, w], f"{g.text} * {w.text}")
        return g, scaled

    def along(_: Rows, at: At) -> Term:
        g, scaled = parts(at)
        return _let(e, "along", [g, scaled], f"{g.text} * {scaled.text}")

    projected = _divided(e, _over_row(e, "sum", kept, along, "projected"))
    shift = ""
    if centred:
        shift = f" - {_divided(e, _over_row(e, 'sum', kept, lambda _, at: parts(at)[0], 'pulled'))}"
    g, scaled = map(e.use, parts(e.at))
    return f"({g}{shift} - {scaled} * ({projected})) * {scale}"


@rule("nll_loss_forward")
def nll_loss(e: Element) -> str:
    """The mean of minus the logarithm at each target, and how many targets count."""
    if e.arg("reduction", 1) == 0 or e.has("weight"):
        raise InputError(f"{e.op.name} with weights or without a sum cannot be written")
    ignored, classes = e.arg("ignore_index", -100), e.seen("self").shape[-1]

    def counts(at: At) -> Term:
        target = e.term("target", at)
        e.fill("target", f"index:{min(classes.values)}")
        return e.writer.let("counts", f"{target.text} != {ignored}", target.depends,
                            (e.op.number, "counts", target))  # fmt: skip

    def each(_: Rows, at: At) -> Term:
        there, target = counts(at), e.term("target", at)
        with e.writer.guarded(there):
            x = e.term("self", (*at, variable(target.text, classes, target.depends)))
        return _let(e, "lost", [x], f"tl.where({there.text}, -{x.text}, 0.0)")

    def one(_: Rows, at: At) -> Term:
        there = counts(at)
        return _let(e, "one", [there], f"tl.where({there.text}, 1.0, 0.0)")

    counted = _over_row(e, "sum", (), one, "counted")
    if e.place == 1:
        return counted
    lost = _over_row(e, "sum", (), each, "loss")
    return f"{lost} / {counted}" if e.arg("reduction", 1) == 1 else lost


@rule("nll_loss_backward")
def nll_loss_backward(e: Element) -> str:
    """Minus a share of the gradient at each target, nothing elsewhere."""
    mean, ignored = e.arg("reduction", 1) == 1, e.arg("ignore_index", -100)
    if e.has("weight") or e.arg("reduction", 1) == 0:
        raise InputError(f"{e.op.name} with weights or without a sum cannot be written")
    target = e.use(e.term("target", e.at[:-1]))
    e.fill("target", f"index:{min(e.seen('self').shape[-1].values)}")
    e.fill("total_weight", "positive")
    share = f"{e.use(e.term('grad_output', ()))}"
    if mean:
        share += f" / {e.use(e.term('total_weight', ()))}"
    there = f"({e.index(e.at[-1])} == {target}) & ({target} != {ignored})"
    return f"tl.where({there}, -({share}), 0.0)"


def lead(writer_ops: tuple[GroupOp, ...], makers: dict[Any, Any]) -> Rows | None:
    """The rows of a group's first sum, None where it has none."""
    for op in writer_ops:
        summed = op.outputs if "norm" not in op.name or "backward" in op.name else op.outputs[1:]
        if reduced(op) is not None and any(value in makers for value, _ in summed):
            return Rows(op)
    return None
