"""Ops with reductions over rows, in fp32: sums and means, softmax and its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.errors import InputError
from simulator.fusion.dataflow import Value
from simulator.kernel_source.element import Element, rule
from simulator.kernel_source.group import GroupOp
from simulator.kernel_source.indices import Index, variable
from simulator.kernel_source.layouts import At, Layout, digits, number
from simulator.kernel_source.sizes import product
from simulator.kernel_source.terms import Term

_SOURCES = {"native_layer_norm": "input", "fused_rms_norm": "input", "softmax": "self",
            "log_softmax": "self", "softmax_backward_data": "output",
            "log_softmax_backward_data": "output", "native_layer_norm_backward": "input",
            "fused_rms_norm_backward": "input", "sum": "self", "mean": "self", "amax": "self",
            "amin": "self", "logsumexp": "self", "nll_loss_forward": "target"}  # fmt: skip
"""The operand whose elements are the rows, by op."""


def reduced(op: GroupOp) -> tuple[Layout, tuple[int, ...]] | None:
    """The layout that an op reduces, and the dimensions; None if it does not reduce."""
    if op.short not in _SOURCES:
        return None
    place = op.names.index(_SOURCES[op.short])
    layout = op.inputs[place][1]
    rank = len(layout.shape)
    if "normalized_shape" in op.args:
        return layout, tuple(range(rank - len(op.args["normalized_shape"]), rank))
    dims = op.args.get("dim")
    if dims is None or dims == []:
        return layout, tuple(range(rank))
    dims = [dims] if isinstance(dims, int) else dims
    return layout, tuple(sorted(int(dim) % rank for dim in dims))


class Rows:
    """The rows that an op reduces: `rows` results of `cols` elements each."""

    def __init__(self, op: GroupOp) -> None:
        dims = reduced(op)
        assert dims is not None
        self.op, (self.layout, self.dims) = op, dims
        shape = self.layout.shape
        self.row_dims = tuple(d for d in range(len(shape)) if d not in self.dims)
        self.outer = tuple(shape[d] for d in self.row_dims)
        self.inner = tuple(shape[d] for d in self.dims)
        self.rows = product(self.outer, self.layout.cases)
        self.cols = product(self.inner, self.layout.cases)

    @property
    def beside(self) -> bool:
        """Whether the elements of a row are adjacent."""
        return not self.dims or self.layout.stride[self.dims[-1]].is_(1)

    def at(self, row: Index, col: Index) -> At:
        """The element `col` of a row."""
        return self.element(digits(row, self.outer), col)

    def element(self, row_at: At, col: Index) -> At:
        """The element `col` of the row at `row_at`."""
        sizes = dict(zip(self.row_dims, row_at, strict=True))
        sizes |= dict(zip(self.dims, digits(col, self.inner), strict=True))
        return tuple(sizes[d] for d in range(len(sizes)))


def _own_row(e: Element, row_at: At) -> tuple[Rows, At]:
    """The rows of an op, and the element of the row at `row_at`. Raises
    InputError if these are not the kernel's rows."""
    rows, writer = Rows(e.op), e.writer
    if writer.row is None or number(row_at, rows.outer, rows.layout.cases) != writer.row:
        raise InputError(f"{e.op.name} reduces rows other than the kernel's")
    if rows.cols != writer.cols:
        raise InputError(f"{e.op.name} reduces rows whose length is not the kernel's")
    return rows, rows.element(row_at, variable("c", rows.cols))


def over_row(
    e: Element, operation: str, row_at: At, each: Callable[[Rows, At], Term], name: str
) -> str:
    """A reduction of the row at `row_at`."""
    rows, at = _own_row(e, row_at)
    return e.use(e.writer.over_row(name, operation, lambda: each(rows, at), (e.op.number, name)))


def _row_at(e: Element) -> At:
    """The row of an element of an output as long as the source."""
    return tuple(e.at[d] for d in Rows(e.op).row_dims)


def of_input(e: Element, name: str) -> Callable[[Rows, At], Term]:
    """A function that returns the element of an operand at a column of the row."""
    return lambda _, at: e.term(name, at)


def _result_row(e: Element) -> At:
    """The row of an element of a sum's output."""
    rows = Rows(e.op)
    if len(e.at) == len(rows.layout.shape) and (e.arg("keepdim", False) or not rows.dims):
        return tuple(e.at[d] for d in rows.row_dims)
    return e.at


def divided(e: Element, text: str) -> str:
    """A sum divided by the length of a row."""
    return f"{text} / {e.writer.names.text(Rows(e.op).cols)}"


@rule("sum", "mean", "amax", "amin")
def total(e: Element) -> str:
    operation = {"amax": "max", "amin": "min"}.get(e.op.short, "sum")
    row_sum = over_row(e, operation, _result_row(e), of_input(e, "self"), e.op.short)
    return divided(e, row_sum) if e.op.short == "mean" else row_sum


def let(e: Element, name: str, parts: list[str | Term], text: str) -> Term:
    """Define a name for an expression inside the sum of a row."""
    depends = frozenset({"r", "c"})
    return e.writer.let(name, text, depends, (e.op.number, name, tuple(map(str, parts))))


def _exponentials(e: Element, row_at: At) -> tuple[str, str]:
    """The maximum of a row, and the sum of exponentials of the differences to it."""
    if e.writer.walking:
        _, at = _own_row(e, row_at)
        e.depends |= {"r"}
        return e.writer.exponentials(lambda: e.term("self", at), (e.op.number, "exponentials"))
    most = over_row(e, "max", row_at, of_input(e, "self"), "most")

    def each(_: Rows, at: At) -> Term:
        x = e.term("self", at)
        return let(e, "power", [x], f"tl.exp({x.text} - {most})")

    return most, over_row(e, "sum", row_at, each, "powers")


@rule("softmax")
def softmax(e: Element) -> str:
    most, powers = _exponentials(e, _row_at(e))
    return f"tl.exp({e['self']} - {most}) / {powers}"


@rule("log_softmax")
def log_softmax(e: Element) -> str:
    most, powers = _exponentials(e, _row_at(e))
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
        return let(e, "part", [g, y], f"{g.text} * {y.text}")

    whole = over_row(e, "sum", _row_at(e), each, "whole")
    if logarithm:
        return f"{e['grad_output']} - tl.exp({e['output']}) * {whole}"
    return f"{e['output']} * ({e['grad_output']} - {whole})"


def lead(ops: tuple[GroupOp, ...], makers: dict[Value, Any]) -> Rows | None:
    """The rows of a group's first reduction, or None."""
    for op in ops:
        summed = op.outputs if "norm" not in op.name or "backward" in op.name else op.outputs[1:]
        if reduced(op) is not None and any(value in makers for value, _ in summed):
            return Rows(op)
    return None
