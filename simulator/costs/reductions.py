"""Sums, extrema, moments and norms over dimensions, and softmax.

`dims` are {"rows": outputs, "cols": elements reduced into each, "inner": 1 where the reduced
elements lie side by side, else how many outputs lie between two of them}. One `reduce_kernel`
does the whole (ATen/native/cuda/Reduce.cuh). Where outputs are few and columns many it splits a
row over blocks, after a memset of their semaphores: that depends on the GPU and is no part of
this count.
"""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs.pointwise import BINARY, UNARY, Steps, elementwise, lane_dtype, read_of
from simulator.costs.registry import Cost, Work, cost
from simulator.records import Signature, Tensor

_HALVES = ("float16", "bfloat16")


def reduced_dims(op: Signature, tensor: Tensor, name: str = "dim") -> tuple[int, ...]:
    """The dimensions an op reduces, counted from 0; all of them where it names none."""
    given = op.arg(name)
    rank = len(tensor.shape)
    if given is None or given == []:
        return tuple(range(rank))
    several: list[int] = [given] if isinstance(given, int) else list(given)
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


def reduction(
    op: Signature, per_element: Steps, per_row: Steps = (0, 0), name: str = "self"
) -> tuple[Work, ...]:
    """One reduction; `per_element` and `per_row` are (FLOPs, instructions)."""
    source = op[name]
    dims = shape_of(source, reduced_dims(op, source))
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
    """The cast that a sum does first when its result has another dtype, and the op after it.

    Only a half precision that is summed to fp32 is widened while it is read
    (ATen/native/ReduceOpsUtils.h, `make_reduction_from_out_ty`).
    """
    source, dtype = op["self"], op.out.dtype
    if source.dtype == dtype or (source.dtype in _HALVES and dtype == "float32"):
        return (), op
    wide = Tensor(source.shape, dtype, source.stride, source.device)
    cast = replace(op, inputs=(source,), outputs=(wide,), names=("self",), aliases=(0, 1))
    after = replace(op, inputs=(wide,), names=("self",), aliases=())
    return elementwise(cast, (0, 0)), after


def _rule(per_element: Steps, per_row: Steps = (0, 0), widens: bool = False) -> Cost:
    def rule(op: Signature) -> tuple[Work, ...]:
        first, then = _widened(op) if widens else ((), op)
        return (*first, *reduction(then, per_element, per_row))

    return rule


_EXTREMA = (
    "amax.default", "amax.out", "amin.default", "amin.out", "max.default", "min.default",
    "max.dim", "min.dim", "max.dim_max", "min.dim_min", "max.unary_out", "min.unary_out",
    "argmax.default", "argmax.out", "argmin.default", "argmin.out",
    "any.default", "any.dim", "any.dims", "any.out", "any.dims_out", "any.all_out",
    "all.default", "all.dim", "all.dims", "all.out", "all.dims_out", "all.all_out",
)  # fmt: skip
_SUMS = (
    "sum.default", "sum.dim_IntList", "sum.IntList_out", "sum.out",
    "prod.default", "prod.dim_int", "prod.int_out", "prod.out", "trace.default",
)  # fmt: skip
_MOMENTS = tuple(
    f"{name}.{overload}"
    for name in ("var", "std", "var_mean", "std_mean")
    for overload in ("default", "dim", "correction")
) + tuple(f"{name}.{overload}" for name in ("var", "std") for overload in ("out", "correction_out"))


def _names(names: tuple[str, ...]) -> list[str]:
    return [f"aten.{name}" for name in names]


cost(*_names(_EXTREMA))(_rule((1, 2)))
cost(*_names(_SUMS))(_rule((1, 1), widens=True))
cost(*_names(("nansum.default", "nansum.out")))(_rule((2, 3), widens=True))
cost(*_names(("mean.default", "mean.dim", "mean.out", "mean.dtype_out")))(
    _rule((1, 1), (1, 1), widens=True)
)
cost(*_names(("aminmax.default", "_aminmax.default", "_aminmax.dim")))(_rule((2, 4)))
# Welford: d = x - mean; mean += d / n; m2 += d·(x - mean), of which 4 are the plain variance's
# (one addition for the mean; subtract, multiply, add), and a division and maybe a root a row.
cost(*_names(_MOMENTS))(_rule((4, 13), (2, 14)))


@cost(
    "aten.linalg_vector_norm.default", "aten.linalg_vector_norm.out", "aten.norm.Scalar",
    "aten.norm.ScalarOpt_dim", "aten.norm.ScalarOpt_dim_dtype", "aten.norm.ScalarOpt_dtype",
    "aten.norm.out", "aten.norm.dtype_out",
)  # fmt: skip
def norm(op: Signature) -> tuple[Work, ...]:
    """The p-norm: |x| to the power p, summed, and the root of each row."""
    order = op.arg("ord", op.arg("p", 2))
    if order == 2:
        steps, root = (2, 1), (1, 6)
    elif order in (0, 1) or str(order) in ("inf", "-inf"):
        steps, root = (2, 2), (0, 0)
    else:
        steps, root = (3, 42), (1, 40)
    first, then = _widened(op)
    return (*first, *reduction(then, steps, root))


@cost("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")
def count_nonzero(op: Signature) -> tuple[Work, ...]:
    """`(x != 0).sum(dim)`, whose sum first casts to int64."""
    source = op["self"]
    mask = Tensor(source.shape, "bool", source.stride, source.device)
    compare = replace(op, inputs=(source,), outputs=(mask,), names=("self",), aliases=(0, 1))
    summed = replace(op, inputs=(mask,), names=("self",), aliases=())
    first, then = _widened(summed)
    return (*elementwise(compare, (1, 1)), *first, *reduction(then, (1, 1)))


@cost("aten.logsumexp.default", "aten.logsumexp.out")
def logsumexp(op: Signature) -> tuple[Work, ...]:
    """max + log(sum(exp(x - max))), one kernel a step (ATen/native/ReduceOps.cpp,
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
        *reduction(op, (1, 2)),
        *step((out,), out, UNARY["abs"]),
        *step((out,), flag, (1, 1)),
        *step((out, flag), out, (0, 1)),
        *step((source, out), whole, BINARY["sub"]),
        *step((whole,), whole, UNARY["exp"]),
        *reduction(summed, (1, 1)),
        *step((out,), out, UNARY["log"]),
        *step((out, out), out, BINARY["add"]),
    )


def softmax_like(op: Signature, per_element: Steps, per_row: Steps) -> tuple[Work, ...]:
    """One softmax kernel over dimension `dim` of the first input."""
    source = op.inputs[0]
    dims = shape_of(source, reduced_dims(op, source))
    elements = source.numel
    work = Work(
        "softmax",
        flops=per_element[0] * elements + per_row[0] * dims["rows"],
        read_bytes=op.read_bytes,
        write_bytes=op.write_bytes,
        dtype=lane_dtype([*op.inputs, *op.outputs]),
        instructions=per_element[1] * elements + per_row[1] * dims["rows"],
        dims=dims,
    )
    return (work,) if elements else ()


@cost("aten._softmax.default", "aten._masked_softmax.default")
def softmax(op: Signature) -> tuple[Work, ...]:
    """max, subtract, exp, add, divide: 5 FLOPs an element."""
    return softmax_like(op, (5, 22), (0, 0))


@cost("aten._log_softmax.default")
def log_softmax(op: Signature) -> tuple[Work, ...]:
    """max, subtract, exp, add, subtract the log: 5 FLOPs an element and a log a row."""
    return softmax_like(op, (5, 15), (1, 10))


@cost("aten._softmax_backward_data.default", "aten._masked_softmax_backward.default")
def softmax_backward(op: Signature) -> tuple[Work, ...]:
    """g·y first, in a kernel of its own (ATen/native/cuda/SoftMax.cu, `softmax_backward_cuda_out`),
    then y·(g - sum(g·y)): add, subtract, multiply."""
    product = replace(op, names=("self", "other"), inputs=op.inputs[:2], aliases=())
    return *elementwise(product, (1, 1)), *softmax_like(op, (3, 5), (0, 0))


@cost("aten._log_softmax_backward_data.default")
def log_softmax_backward(op: Signature) -> tuple[Work, ...]:
    """g - exp(y)·sum(g): add, exp, multiply, subtract."""
    return softmax_like(op, (4, 13), (0, 0))


@cost("aten._safe_softmax.default")
def safe_softmax(op: Signature) -> tuple[Work, ...]:
    """Softmax whose rows of -inf become 0 (ATen/native/transformers/attention.cpp): softmax,
    a scalar, == -inf, all, a scalar, where."""
    source, out = op["self"], op.out
    (one,) = softmax_like(op, (5, 22), (0, 0)) or (None,)
    if one is None:
        return ()
    rows = out.numel // one.dims["cols"]
    mask = Tensor(source.shape, "bool", source.stride)
    scalar = Work("fill", write_bytes=out.itemsize, instructions=2, dims={"elements": 1})
    equal = replace(op, inputs=(source,), outputs=(mask,), names=("self",), aliases=())
    every = Work("reduction", mask.numel, mask.numel, rows, instructions=3 * mask.numel,
                 dims=one.dims)  # fmt: skip
    kept = Tensor((rows,), "bool", (1,))
    choose = replace(
        op, inputs=(kept, out), outputs=(out,), names=("condition", "other"), aliases=()
    )
    return (one, scalar, *elementwise(equal, (1, 1)), every, scalar, *elementwise(choose, (0, 1)))
