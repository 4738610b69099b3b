"""A fused group as a Triton kernel: its body, its operands, and how it is launched."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.errors import InputError
from simulator.fusion.dataflow import Value
from simulator.kernel_source import formulas, losses, movement, norms, rows
from simulator.kernel_source.element import RULES
from simulator.kernel_source.group import FusedGroup
from simulator.kernel_source.indices import variable
from simulator.kernel_source.layouts import At, Layout, digits, number
from simulator.kernel_source.order import loads_first
from simulator.kernel_source.rows import Rows, lead
from simulator.kernel_source.sizes import Names, Size
from simulator.kernel_source.writer import Operand, Writer

_RULES_OF = (formulas, losses, movement, norms, rows)  # imported for what they register

WHOLE = 16384
"""Elements of a row at most that one program keeps in registers."""

_INT32 = 2**31

_NEVER = {
    "native_dropout.": "draws random numbers, and no reference draws the same",
    "bernoulli": "draws random numbers, and no reference draws the same",
    "rand": "draws random numbers, and no reference draws the same",
    "cumsum": "is a running sum, which is no sum over a row",
    "sort": "sorts", "topk": "sorts", "scatter": "scatters", "index_put": "scatters",
}  # fmt: skip
"""Why some ops are never written, by a part of their names."""


@dataclass(frozen=True)
class Result:
    """A value that the kernel writes, by name."""

    name: str
    value: Value
    layout: Layout


@dataclass(frozen=True)
class Kernel:
    """`lines` are the body; `count` the elements of a loop kernel, or the rows, `cols` their
    length, `arguments` the sizes that it is given by name. Rows that are not `walking` lie whole in
    registers; `beside` says that the elements of one lie beside each other."""

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


def supported() -> str:
    """What can be written, for an error."""
    return ", ".join(sorted(RULES))


def kernel(group: FusedGroup, whole: int = WHOLE) -> Kernel:
    """Write the kernel of a group; it walks along rows of more than `whole` elements. InputError
    for one with an op, or a way to read, that is not known, with its name."""
    if not group.stores:
        raise InputError("nothing that it computes is stored")
    for op in group.ops:
        if why := next((why for part, why in _NEVER.items() if part in op.name), None):
            raise InputError(f"{op.name} {why}")
        if op.short not in RULES:
            raise InputError(f"{op.name} cannot be written: expected one of {supported()}")
    found = lead(group.ops, group.makers)
    return _loop(group) if found is None else _over_rows(group, found, whole)


def _loop(group: FusedGroup) -> Kernel:
    writer = Writer(group, False)
    count = group.stores[0][1].numel
    i, first = variable("i", count), group.stores[0][1]
    # In the order in which the first result lies in memory, as Inductor nests its loops
    at = first.at(i) if first.dense else digits(i, first.shape)
    results: list[Result] = []
    for value, made in group.stores:
        if made.numel != count:
            raise InputError("its results are of different sizes")
        same = made.shape == first.shape
        mine = at if same else digits(number(at, first.shape, first.cases), made.shape)
        _store(writer, value, made, mine, results)
    lines = [
        "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        f"inside = i < {writer.names.text(count)}",
    ]
    lines[0] = _wide(lines[0], group)
    return _kernel(writer, lines, results, count)


def _over_rows(group: FusedGroup, found: Rows, whole: int) -> Kernel:
    walking = not found.beside or max(found.cols.values) > whole
    writer = Writer(group, walking)
    row, col = variable("r", found.rows), variable("c", found.cols)
    writer.row, writer.cols = row, found.cols
    results: list[Result] = []
    long = [each for each in group.stores if each[1].numel == found.rows * found.cols]
    for value, made in group.stores:
        if made.numel == found.rows:
            _store(writer, value, made, digits(row, made.shape), results)
        elif made.numel != found.rows * found.cols:
            raise InputError("its results are neither one a row nor one an element")
    if long:
        at = found.at(row, col)
        with writer.walk():
            for value, made in long:
                same = made.shape == found.seen.shape
                n = number(at, found.seen.shape, found.seen.cases)
                _store(writer, value, made, at if same else digits(n, made.shape), results)
    n_rows, n_cols = writer.names.text(found.rows), writer.names.text(found.cols)
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
    return _kernel(writer, head, results, found.rows, found)


def _store(writer: Writer, value: Value, made: Layout, at: At, results: list[Result]) -> None:
    op, place = writer.group.makers[value]
    name = "out" if not results else f"out_{len(results)}"
    results.append(Result(name, value, made))
    writer.store(name, writer.computed(op, place, at), made, at)


def _wide(line: str, group: FusedGroup) -> str:
    """64 bits for the places of a tensor that needs them."""
    widest = max(max(size.values) for size in group.elements.values())
    return line if widest < _INT32 else f"{line}.to(tl.int64)"


def _kernel(
    writer: Writer,
    head: list[str],
    results: list[Result],
    count: Size,
    found: Rows | None = None,
) -> Kernel:
    lines = [*head, *writer.lines]
    lines = lines if writer.walking else loads_first(lines)
    return Kernel(
        writer.group,
        tuple(lines),
        tuple(writer.operands.values()),
        tuple(results),
        writer.names,
        tuple(writer.names.values),
        count,
        found.cols if found else None,
        writer.walking,
        found.beside if found else True,
    )
