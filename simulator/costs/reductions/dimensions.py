"""Sums, extrema, moments and norms over dimensions.

`dims` are {"rows": outputs, "cols": elements reduced into each, "inner": 1 if the reduced elements
are adjacent, else the number of outputs between two of them}, and `again` if the previous kernel
has just written the input. One `reduce_kernel` does the whole reduction
(ATen/native/cuda/Reduce.cuh), with `vector` elements per load and `unroll` loads in flight. For few
outputs of many columns it splits a row over blocks, after a memset of their semaphores; this
depends on the GPU and is not counted here.
"""

from __future__ import annotations

from math import prod
from typing import Any

from msgspec.structs import replace

from simulator.costs.compiled_traits import LISTED, Traits, listed
from simulator.costs.kernels.elementwise import Steps, elementwise, read_of
from simulator.costs.kernels.iterator import lane_dtype
from simulator.costs.pointwise.tables import BINARY, UNARY
from simulator.costs.registry import Cost, Work, cost
from simulator.records import Signature, Tensor

_HALVES = ("float16", "bfloat16")


def reduced_dims(op: Signature, tensor: Tensor, name: str = "dim") -> tuple[int, ...]:
    """The dimensions that an op reduces, counted from 0; all dimensions if it names none."""
    dims = op.arg(name)
    rank = len(tensor.shape)
    if dims is None or dims == []:
        return tuple(range(rank))
    several: list[int] = [dims] if isinstance(dims, int) else list(dims)
    return tuple(dim % rank if rank else 0 for dim in several)


def shape_of(tensor: Tensor, dims: tuple[int, ...]) -> dict[str, int]:
    """{"rows", "cols", "inner"} of a reduction of `tensor` over `dims`."""
    pairs = list(zip(tensor.shape, tensor.stride, strict=True))
    cols = prod(tensor.shape[d] for d in dims if d < len(pairs))
    steps = [pairs[d][1] for d in dims if d < len(pairs) and pairs[d][0] > 1]
    inside = [
        size for d, (size, step) in enumerate(pairs) if d not in dims and step < min(steps or [0])
    ]
    return {"rows": tensor.numel // max(cols, 1), "cols": cols, "inner": prod(inside)}


def loads(tensor: Tensor, dims: tuple[int, ...], most: int = 4, unroll: int = 4) -> dict[str, Any]:
    """The loads of `reduce_kernel` over these dimensions: {"itemsize", "across": whether outputs
    are adjacent, "vector", "unroll", "nested"}.

    A load takes `most` elements along packed rows of 128 and more. Across rows it takes up to 4
    outputs, as their sizes and strides permit (`setReduceConfig`, `get_output_vec_size`). Rows of
    several dimensions are nested: divisions give the position of each element.
    """
    runs: list[list[int]] = []  # size, stride, is reduced; adjacent dimensions are merged
    every = zip(tensor.shape, tensor.stride, range(len(tensor.shape)), strict=True)
    for size, step, dim in sorted(every, key=lambda each: each[1]):
        reduced = int(dim in dims)
        if size == 1:
            continue
        if runs and runs[-1][2] == reduced and runs[-1][0] * runs[-1][1] == step:
            runs[-1][0] *= size
        else:
            runs.append([size, step, reduced])
    vector, nested = 1, sum(reduced for _, _, reduced in runs) > 1
    across = bool(runs) and not runs[0][2]
    if runs and runs[0][1] == 1:
        if across:
            others = [step for _, step, _ in runs[1:]]
            vector = next(v for v in (4, 2, 1) if all(n % v == 0 for n in (runs[0][0], *others)))
        elif not nested and runs[0][0] >= 128:
            vector = most
    return {
        "itemsize": tensor.itemsize,
        "across": across,
        "vector": vector,
        "unroll": unroll,
        "nested": nested,
    }


def sum_over_rows(rows: int, cols: int, dtype: str) -> Work:
    """The sum over the rows of a packed matrix; the result has the matrix's dtype."""
    return _over_first(Tensor((rows, cols), dtype, (cols, 1)), cols)


def total(elements: int, dtype: str) -> Work:
    """The sum of packed elements; the result has their dtype."""
    return _over_first(Tensor((elements,), dtype, (1,)), 1)


def extreme(elements: int, dtype: str) -> Work:
    """The minimum or maximum of packed elements that an earlier op wrote."""
    return _over_first(Tensor((elements,), dtype, (1,)), 1, "extremes", slots=3, again=False)


def _over_first(
    tensor: Tensor, rows: int, kind: str = "sum", slots: int = 2, again: bool = True
) -> Work:
    """A reduction over the first dimension, with `slots` instructions for each element."""
    most = 8 if kind == "sum" and tensor.itemsize == 2 else 4
    dims = {**shape_of(tensor, (0,)), **loads(tensor, (0,), most), "kind": kind, "again": again}
    return Work(
        "reduction",
        tensor.numel,
        tensor.nbytes,
        rows * tensor.itemsize,
        dtype=lane_dtype([tensor]),
        instructions=slots * tensor.numel,
        dims=dims,
    )


def reduction(
    op: Signature,
    per_element: Steps,
    per_row: Steps = (0, 0),
    name: str = "self",
    kind: str = "sum",
) -> tuple[Work, ...]:
    """One reduction; `per_element` and `per_row` are (FLOPs, instructions)."""
    source = op[name]
    over = reduced_dims(op, source)
    most = 2 if kind == "moments" else 8 if kind == "sum" and source.itemsize == 2 else 4
    unroll = 2 if kind == "moments" else 4
    dims = {
        **shape_of(source, over),
        **loads(source, over, most, unroll),
        "kind": kind,
        "again": False,
    }
    rows, elements = op.out.numel, source.numel
    work = Work(
        "reduction",
        flops=per_element[0] * elements + per_row[0] * rows,
        read_bytes=read_of(op, name),
        write_bytes=op.write_bytes,
        dtype=lane_dtype([source, *op.outputs]),
        instructions=(per_element[1] + 1) * elements + per_row[1] * rows,
        dims=dims,
    )
    return (work,) if rows else ()


def _widened(op: Signature) -> tuple[tuple[Work, ...], Signature]:
    """The cast that precedes a sum whose result has another dtype, and the op after the cast.

    Only half precision that is summed to fp32 is converted as it is read
    (ATen/native/ReduceOpsUtils.h, `make_reduction_from_out_ty`).
    """
    source, dtype = op["self"], op.out.dtype
    if source.dtype == dtype or (source.dtype in _HALVES and dtype == "float32"):
        return (), op
    wide = Tensor(source.shape, dtype, source.stride, source.device)
    cast = replace(op, inputs=(source,), outputs=(wide,), names=("self",), aliases=(0, 1))
    after = replace(op, inputs=(wide,), names=("self",), aliases=())
    return elementwise(cast, (0, 0)), after


def _rule(
    per_element: Steps, per_row: Steps = (0, 0), widens: bool = False, kind: str = "sum"
) -> Cost:
    def rule(op: Signature) -> tuple[Work, ...]:
        first, after_cast = _widened(op) if widens else ((), op)
        return (*first, *reduction(after_cast, per_element, per_row, kind=kind))

    return rule


def _aten(names: str) -> list[str]:
    return [f"aten.{name}" for name in names.split()]


_EXTREMES = _rule((1, 2), kind="extremes")
cost(
    *_aten("amax.default amax.out max.default max.unary_out min.default min.unary_out"),
    traits=LISTED,
)(_EXTREMES)
cost(*_aten("amin.default amin.out"))(_EXTREMES)

_TRUTH = _rule((1, 2), kind="truth")
cost(*_aten("any.default any.dim any.dims any.out any.dims_out any.all_out"), traits=LISTED)(_TRUTH)
cost(*_aten("all.default all.dim all.dims all.out all.dims_out all.all_out"))(_TRUTH)
cost(*_aten("_is_all_true.default _is_any_true.default"))(_TRUTH)

_PLACES = _rule((1, 4), kind="places")  # NaNs and ties are compared too
cost(*_aten("max.dim max.dim_max min.dim min.dim_min argmax.default argmax.out"), traits=LISTED)(
    _PLACES
)
cost(*_aten("argmin.default argmin.out"))(_PLACES)

_SUM = _rule((1, 1), widens=True)
cost(
    *_aten("sum.default sum.dim_IntList sum.IntList_out sum.out"),
    traits=listed(autocast="float32_argument", overloads=("default", "dim_IntList")),
)(_SUM)
cost(
    *_aten("prod.default prod.dim_int prod.int_out prod.out"),
    traits=Traits(autocast="float32_argument", overloads=("default", "dim_int")),
)(_SUM)
cost("aten.trace.default")(_SUM)

cost(*_aten("nansum.default nansum.out"))(_rule((2, 3), widens=True))
cost(*_aten("mean.default mean.dim mean.out mean.dtype_out"), traits=LISTED)(
    _rule((1, 1), (1, 1), widens=True)
)
cost(*_aten("aminmax.default _aminmax.default _aminmax.dim"))(_rule((2, 4), kind="extremes"))

# Welford: d = x - mean; mean += d / n; m2 += d·(x - mean). Of these FLOPs, 4 are those of the plain
# variance (one addition for the mean; subtract, multiply, add). Per row there are a division and
# maybe a root.
_MOMENTS = _rule((4, 13), (2, 14), kind="moments")
cost(
    *_aten("var.default var.dim var.correction var.out var.correction_out"),
    *_aten("std.default std.dim std.correction std.out std.correction_out"),
    *_aten("var_mean.default var_mean.dim var_mean.correction"),
    traits=LISTED,
)(_MOMENTS)
cost(*_aten("std_mean.default std_mean.dim std_mean.correction"))(_MOMENTS)


@cost(
    "aten.linalg_vector_norm.default",
    "aten.linalg_vector_norm.out",
    traits=Traits(autocast="float32_argument"),
)
@cost(
    "aten.norm.Scalar",
    "aten.norm.ScalarOpt_dim",
    "aten.norm.ScalarOpt_dim_dtype",
    "aten.norm.ScalarOpt_dtype",
    "aten.norm.out",
    "aten.norm.dtype_out",
)
def norm(op: Signature) -> tuple[Work, ...]:
    """The p-norm: |x| to the power p, summed, and the root of each row."""
    order = op.arg("ord", op.arg("p", 2))
    if order == 2:
        steps, root = (2, 1), (1, 6)
    elif order in (0, 1) or str(order) in ("inf", "-inf"):
        steps, root = (2, 2), (0, 0)
    else:
        steps, root = (3, 42), (1, 40)
    first, after_cast = _widened(op)
    return (*first, *reduction(after_cast, steps, root, kind="norm"))


@cost("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")
def count_nonzero(op: Signature) -> tuple[Work, ...]:
    """`(x != 0).sum(dim)`, whose sum first casts to int64."""
    source = op["self"]
    mask = Tensor(source.shape, "bool", source.stride, source.device)
    compare = replace(op, inputs=(source,), outputs=(mask,), names=("self",), aliases=(0, 1))
    summed = replace(op, inputs=(mask,), names=("self",), aliases=())
    first, after_cast = _widened(summed)
    return (*elementwise(compare, (1, 1)), *first, *reduction(after_cast, (1, 1)))


@cost(
    "aten.logsumexp.default",
    "aten.logsumexp.out",
    traits=Traits(row_slots=(11, 32), autocast="float32"),
)
def logsumexp(op: Signature) -> tuple[Work, ...]:
    """max + log(sum(exp(x - max))), one kernel per step (ATen/native/ReduceOps.cpp,
    `logsumexp_out_impl`): amax, abs, == inf, masked_fill_, sub, exp_, sum, log_, add_."""
    source, out = op["self"], op.out
    if not out.numel:
        return ()
    flag = Tensor(out.shape, "bool", out.stride, out.device)
    whole = Tensor(source.shape, out.dtype, source.stride, source.device)

    def step(inputs: tuple[Tensor, ...], result: Tensor, steps: Steps) -> tuple[Work, ...]:
        names = ("self", "other")[: len(inputs)]
        one = replace(op, inputs=inputs, outputs=(result,), names=names, aliases=())
        return elementwise(one, steps)

    summed = replace(op, inputs=(whole,), names=("self",), aliases=())
    return (
        *reduction(op, (1, 2), kind="extremes"),
        *step((out,), out, UNARY["abs"].steps),
        *step((out,), flag, (1, 1)),
        *step((out, flag), out, (0, 1)),
        *step((source, out), whole, BINARY["sub"].steps),
        *step((whole,), whole, UNARY["exp"].steps),
        *reduction(summed, (1, 1)),
        *step((out,), out, UNARY["log"].steps),
        *step((out, out), out, BINARY["add"].steps),
    )
