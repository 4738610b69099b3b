"""A fused group as a Triton kernel: its body, its operands and its launch."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.errors import InputError
from simulator.fusion.dataflow import Value
from simulator.kernel_source import formulas, losses, movement, norms, rows
from simulator.kernel_source.element import rule_of, supported
from simulator.kernel_source.group import FusedGroup
from simulator.kernel_source.indices import variable
from simulator.kernel_source.layouts import At, Layout, digits, number
from simulator.kernel_source.order import loads_first
from simulator.kernel_source.rows import Rows, lead
from simulator.kernel_source.sizes import Names, Size
from simulator.kernel_source.writer import Operand, Writer

_RULES_OF = (formulas, losses, movement, norms, rows)  # imported to register their rules

WHOLE = 16384
"""The largest number of elements of a row that one program holds in registers."""

_INT32 = 2**31

_NEVER = {
    "native_dropout.": "draws random numbers, which no reference can reproduce",
    "bernoulli": "draws random numbers, which no reference can reproduce",
    "rand": "draws random numbers, which no reference can reproduce",
    "cumsum": "is a running sum, not a sum over a row",
    "sort": "sorts",
    "topk": "sorts",
    "scatter": "scatters",
    "index_put": "scatters",
}
"""The reasons why some ops cannot be exported, by a part of their names."""


@dataclass(frozen=True)
class Result:
    """A value that the kernel writes, by name."""

    name: str
    value: Value
    layout: Layout


@dataclass(frozen=True)
class Kernel:
    """A generated kernel.

    lines       the body
    arguments   the names of its size arguments
    count       the number of elements, or of rows
    cols        the length of a row; None for a kernel without rows
    walking     whether it walks along rows in a loop; otherwise a row fits into registers
    beside      whether the elements of a row are adjacent
    """

    group: FusedGroup
    lines: tuple[str, ...]
    operands: tuple[Operand, ...]
    results: tuple[Result, ...]
    names: Names
    arguments: tuple[str, ...]
    count: Size
    cols: Size | None
    walking: bool
    beside: bool


def kernel(group: FusedGroup, whole: int = WHOLE) -> Kernel:
    """The kernel of a group, which loops along rows of more than `whole` elements.

    Raises InputError, with the op's name, if an op or an access pattern is not supported.
    """
    if not group.stores:
        raise InputError("it stores no result")
    for op in group.ops:
        if why := next((why for part, why in _NEVER.items() if part in op.name), None):
            raise InputError(f"{op.name} {why}")
        if rule_of(op.short) is None:
            raise InputError(f"{op.name} cannot be exported: expected one of {supported()}")
    lead_rows = lead(group.ops, group.makers)
    return _loop(group) if lead_rows is None else _over_rows(group, lead_rows, whole)


def _loop(group: FusedGroup) -> Kernel:
    writer = Writer(group, False)
    count = group.stores[0][1].numel
    i, first = variable("i", count), group.stores[0][1]
    # Elements are in the memory order of the first result, as in Inductor's loops
    at = first.at(i) if first.dense else digits(i, first.shape)
    results: list[Result] = []
    for value, layout in group.stores:
        if layout.numel != count:
            raise InputError("its results differ in size")
        same = layout.shape == first.shape
        mine = at if same else digits(number(at, first.shape, first.cases), layout.shape)
        _store(writer, value, layout, mine, results)
    lines = [
        "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        f"inside = i < {writer.names.text(count)}",
    ]
    lines[0] = _wide(lines[0], group)
    return _kernel(writer, lines, results, count)


def _over_rows(group: FusedGroup, lead_rows: Rows, whole: int) -> Kernel:
    walking = not lead_rows.beside or max(lead_rows.cols.values) > whole
    writer = Writer(group, walking)
    row, col = variable("r", lead_rows.rows), variable("c", lead_rows.cols)
    writer.row, writer.cols = row, lead_rows.cols
    results: list[Result] = []
    long = [each for each in group.stores if each[1].numel == lead_rows.rows * lead_rows.cols]
    for value, layout in group.stores:
        if layout.numel == lead_rows.rows:
            _store(writer, value, layout, digits(row, layout.shape), results)
        elif layout.numel != lead_rows.rows * lead_rows.cols:
            raise InputError("its results have neither one number per row nor one per element")
    if long:
        at = lead_rows.at(row, col)
        with writer.walk():
            for value, layout in long:
                same = layout.shape == lead_rows.layout.shape
                n = number(at, lead_rows.layout.shape, lead_rows.layout.cases)
                _store(writer, value, layout, at if same else digits(n, layout.shape), results)
    n_rows, n_cols = writer.names.text(lead_rows.rows), writer.names.text(lead_rows.cols)
    head = [
        _wide("r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]", group),
        f"in_rows = r < {n_rows}",
    ]
    if walking:
        head.append(f"cols = {n_cols}")
    else:
        head += [
            "c = tl.arange(0, COLS)[None, :]",
            f"in_cols = c < {n_cols}",
            "inside = in_rows & in_cols",
        ]
    return _kernel(writer, head, results, lead_rows.rows, lead_rows)


def _store(writer: Writer, value: Value, layout: Layout, at: At, results: list[Result]) -> None:
    op, place = writer.group.makers[value]
    name = "out" if not results else f"out_{len(results)}"
    results.append(Result(name, value, layout))
    writer.store(name, writer.computed(op, place, at), layout, at)


def _wide(line: str, group: FusedGroup) -> str:
    """The line with 64-bit indices if a tensor needs them."""
    widest = max(max(size.values) for size in group.elements.values())
    return line if widest < _INT32 else f"{line}.to(tl.int64)"


def _kernel(
    writer: Writer,
    head: list[str],
    results: list[Result],
    count: Size,
    lead_rows: Rows | None = None,
) -> Kernel:
    lines = [*head, *writer.lines]
    lines = lines if writer.walking else loads_first(lines)
    return Kernel(
        group=writer.group,
        lines=tuple(lines),
        operands=tuple(writer.operands.values()),
        results=tuple(results),
        names=writer.names,
        arguments=tuple(writer.names.values),
        count=count,
        cols=lead_rows.cols if lead_rows else None,
        walking=writer.walking,
        beside=lead_rows.beside if lead_rows else True,
    )
