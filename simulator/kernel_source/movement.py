"""Ops whose elements are elements of their operands, or constants."""

from __future__ import annotations

from collections.abc import Callable

from simulator.errors import InputError
from simulator.kernel_source.element import Element, rule
from simulator.kernel_source.group import before_bias
from simulator.kernel_source.indices import Index, variable
from simulator.kernel_source.layouts import At
from simulator.kernel_source.sizes import Size
from simulator.kernel_source.terms import Term, kind, literal


def _size(e: Element, value: Size | int) -> Size:
    return value if isinstance(value, Size) else e.at[0].constant * 0 + value


def _dim(e: Element, rank: int) -> int:
    return int(e.arg("dim", 0)) % rank


def _moved(at: At, dim: int, index: Index) -> At:
    return (*at[:dim], index, *at[dim + 1 :])


def _within(e: Element, place: int, index: Index, begin: Size, size: Size) -> Index:
    """The position of an index in a piece of `size` elements. For a computed operand, the position
    gets a name with these bounds, which simplify its divisions."""
    along = index.plus(begin * -1)
    if e.op.inputs[place][0] not in e.writer.group.makers:
        return along
    text = along.text(e.writer.names)
    term = e.writer.let("along", text, index.depends)
    return variable(term.text, size, index.depends)


def _condition(e: Element, parts: list[tuple[Index, str, Size]]) -> Term:
    """The conjunction of conditions, each an index, ">=" or "<", and a bound."""
    names, texts, depends = e.writer.names, list[str](), frozenset[str]()
    for index, sign, bound in parts:
        texts.append(f"({index.text(names)} {sign} {names.text(bound)})")
        depends |= index.depends
    return e.writer.let("there", " & ".join(texts), depends, tuple(parts))


def _chosen(e: Element, condition: Term, inner: Callable[[], Term], other: str) -> str:
    e.use(condition)
    with e.writer.guarded(condition):
        term = inner()
    return f"tl.where({condition.text}, {e.use(term)}, {other})"


@rule("cat")
def cat(e: Element) -> str:
    dim = _dim(e, len(e.at))
    begin = e.at[dim].constant * 0
    pieces: list[tuple[Size, int]] = []
    for place, (_, layout) in enumerate(e.op.inputs):
        pieces.append((begin, place))
        begin += layout.shape[dim]

    def at(place: int, begin: Size) -> At:
        size = e.op.inputs[place][1].shape[dim]
        return _moved(e.at, dim, _within(e, place, e.at[dim], begin, size))

    return _joined(e, dim, pieces, at)


@rule("stack")
def stack(e: Element) -> str:
    dim = _dim(e, len(e.at))
    pieces = [(_size(e, place), place) for place in range(len(e.op.inputs))]
    return _joined(e, dim, pieces, lambda _, __: (*e.at[:dim], *e.at[dim + 1 :]))


def _joined(
    e: Element, dim: int, pieces: list[tuple[Size, int]], at: Callable[[int, Size], At]
) -> str:
    """The element at an index, from the piece that contains it."""
    index, text = e.at[dim], "0.0"
    for number, (begin, place) in enumerate(pieces):
        bounds = [(index, ">=", begin)] if number else []
        if number + 1 < len(pieces):
            bounds.append((index, "<", pieces[number + 1][0]))
        condition = _condition(e, bounds)
        text = _chosen(
            e, condition, lambda place=place, begin=begin: e.term(place, at(place, begin)), text
        )
    return text


@rule("embedding")
def embedding(e: Element) -> str:
    return _looked_up(e, "weight", 0, e.at[:-1], "indices")


@rule("index_select")
def index_select(e: Element) -> str:
    dim = _dim(e, len(e.at))
    return _looked_up(e, "self", dim, (e.at[dim],), "index")


@rule("gather")
def gather(e: Element) -> str:
    return _looked_up(e, "self", _dim(e, len(e.at)), e.at, "index")


def _looked_up(e: Element, table: str, dim: int, at: At, indices: str) -> str:
    rows = e.layout(table).shape[dim]
    term = e.term(indices, at)
    e.fill(indices, f"index:{min(rows.values)}")
    where = variable(term.text, rows, term.depends)
    e.use(term)
    spread = (where, *e.at[len(at) :]) if table == "weight" else _moved(e.at, dim, where)
    return e.use(e.term(table, spread))


@rule("slice_backward")
def slice_backward(e: Element) -> str:
    dim, size = _dim(e, len(e.at)), e.layout("grad_output").shape
    if e.arg("step", 1) != 1:
        raise InputError(f"{e.op.name} with a step cannot be exported")
    start = _size(e, e.arg("start", 0))
    whole = _size(e, e.arg("input_sizes")[dim])
    start = Size(
        tuple(s + w if s < 0 else s for s, w in zip(start.values, whole.values, strict=True))
    )
    condition = _condition(e, [(e.at[dim], ">=", start), (e.at[dim], "<", start + size[dim])])
    along = _within(e, 0, e.at[dim], start, size[dim])
    return _chosen(e, condition, lambda: e.term("grad_output", _moved(e.at, dim, along)), "0.0")


@rule("select_backward")
def select_backward(e: Element) -> str:
    dim = _dim(e, len(e.at))
    place = _size(e, e.arg("index", 0))
    whole = _size(e, e.arg("input_sizes")[dim])
    place = Size(tuple(p % w for p, w in zip(place.values, whole.values, strict=True)))
    condition = _condition(e, [(e.at[dim], ">=", place), (e.at[dim], "<", place + 1)])
    return _chosen(
        e, condition, lambda: e.term("grad_output", (*e.at[:dim], *e.at[dim + 1 :])), "0.0"
    )


@rule("constant_pad_nd")
def constant_pad(e: Element) -> str:
    pads, shape = e.arg("pad"), e.layout("self").shape
    bounds: list[tuple[Index, str, Size]] = []
    at = list(e.at)
    for number in range(len(pads) // 2):
        dim = len(at) - 1 - number
        before = _size(e, pads[2 * number])
        bounds += [(at[dim], ">=", before), (at[dim], "<", before + shape[dim])]
        at[dim] = _within(e, 0, at[dim], before, shape[dim])
    condition = _condition(e, bounds)
    return _chosen(
        e, condition, lambda: e.term("self", tuple(at)), e["value"].replace("None", "0.0")
    )


@rule("flip")
def flip(e: Element) -> str:
    at = list(e.at)
    dims: list[int] = e.arg("dims")
    for dim in dims:
        size = e.layout("self").shape[dim]
        names, index = e.writer.names, at[dim]
        turned = f"({names.text(size - 1)}) - ({index.text(names)})"
        term = e.writer.let("turned", turned, index.depends, ("turned", index, size))
        at[dim] = variable(term.text, size, index.depends)
    return e.use(e.term("self", tuple(at)))


@rule("roll")
def roll(e: Element) -> str:
    at = list(e.at)
    dims: list[int] = e.arg("dims", [0])
    for dim, shift in zip(dims, e.arg("shifts"), strict=True):
        size = e.layout("self").shape[dim]
        shift = _size(e, shift)
        back = Size(tuple(-s % n for s, n in zip(shift.values, size.values, strict=True)))
        at[dim] = at[dim].plus(back).modulo(size)
    return e.use(e.term("self", tuple(at)))


@rule("tril", "triu")
def triangle(e: Element) -> str:
    sign = "<=" if e.op.short == "tril" else ">="
    row, col = e.index(e.at[-2]), e.index(e.at[-1])
    return f"tl.where({col} {sign} {row} + {e.arg('diagonal', 0)}, {e['self']}, 0.0)"


@rule("arange")
def arange(e: Element) -> str:
    start, step = e.arg("start", 0), e.arg("step", 1)
    text = e.index(e.at[0])
    text = text[1:-1] if text.startswith("((") else text
    text = text if step == 1 else f"{text} * {step!r}"
    text = text if start == 0 else f"{text} + {literal(start, e.writer.names)}"
    whole = kind(e.op.outputs[0][1].dtype) == "int"
    return text if whole else f"({text}) * 1.0"


@rule(
    "full",
    "full_like",
    "new_full",
    "fill",
    "scalar_tensor",
    "zeros",
    "zeros_like",
    "new_zeros",
    "ones",
    "ones_like",
    "new_ones",
    "zero",
)
def full(e: Element) -> str:
    names = ("fill_value", "value", "s")
    stated = next((e.op.args[name] for name in names if name in e.op.args), None)
    value = stated if stated is not None else int("ones" in e.op.short)
    if e.has("value"):
        return e["value"]
    types = {"float": "tl.float32", "int": "tl.int64", "bool": "tl.int1"}
    dtype = types[kind(e.op.outputs[0][1].dtype)]
    shape = "[1, 1]" if e.writer.row is not None else "[1]"
    return f"tl.full({shape}, {literal(value, e.writer.names)}, {dtype})"


@rule("convolution", "addmm")
def bias(e: Element) -> str:
    """The addition of the bias by a loop; the product itself is read from memory."""
    value, layout = e.op.outputs[0]
    product = e.writer.load(before_bias(value), layout, e.at, "product")
    name = "bias" if e.has("bias") else "self"
    if not e.has(name) or e.arg("beta", 1) != 1 or e.arg("alpha", 1) != 1:
        raise InputError(
            f"{e.op.name} is a library call: only the addition of its bias can be exported"
        )
    channel = (e.at[1],) if e.op.short == "convolution" else e.broadcast(e.layout(name))
    return f"{e.use(product)} + {e.use(e.term(name, channel))}"
