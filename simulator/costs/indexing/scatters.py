"""Indexed writes, and the sort that an accumulating one launches.

Bytes are one row per index, but at most the whole table, because shapes do not show which indices
repeat.
"""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs.compiled_traits import Traits
from simulator.costs.indexing.gathers import FEW, SECTOR, expanded_width, index_bytes, masks_of
from simulator.costs.indexing.host_reads import MASKS, indexes_by_data
from simulator.costs.kernels.launches import (
    clone,
    copy,
    full_bytes,
    helper_kernel,
    index_range,
    indexed_access,
    pointwise,
)
from simulator.costs.kernels.radix import radix_sort
from simulator.costs.movement.fills import fill_of
from simulator.costs.reductions.dimensions import extreme
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor


def _written(
    op: Signature,
    index: int,
    source: Tensor | None,
    places: int,
    width: int,
    **dims: float | str,
) -> tuple[Work, ...]:
    """A clone unless the op works in place, also as a gradient; then one kernel. An addition also
    reads its target."""
    target = op["self"]
    touched = min(places * target.itemsize, target.nbytes)
    reads = any(word in op.name for word in ("add", "reduce")) or op.arg("accumulate", False)
    read = index + (source.nbytes if source is not None else 0) + (touched if reads else 0)
    dims = {"table_bytes": target.nbytes, **dims}
    write = indexed_access("scatter", places, width, read, touched, flops=int(reads), **dims)
    in_place = op.name.split(".")[1].endswith("_") or op.arg("into_zeros", False)
    return (write,) if in_place else (clone(target), write)


@cost(
    *(
        f"aten.{name}.{kind}"
        for name in ("scatter", "scatter_")
        for kind in ("src", "value", "reduce", "value_reduce")
    ),
    "aten.scatter_add_.default",
    "aten.put.default",
    "aten.put_.default",
)
@cost("aten.scatter_add.default", traits=Traits(autocast="widest"))
def scatter(op: Signature) -> tuple[Work, ...]:
    """Write one element per index. Sums are atomic additions; products are atomic too, by a loop of
    compare-and-swap (ATen/cuda/Atomic.cuh)."""
    adds = "add" in op.name or op.arg("reduce") == "add" or op.arg("accumulate", False)
    how = "atomic" if adds else "compared" if op.arg("reduce") == "multiply" else "elements"
    return _elements(op, how)


def _elements(op: Signature, how: str) -> tuple[Work, ...]:
    """One kernel that writes one element per index, and the clone of its target. Neighbouring
    indices choose among `table_bytes`: a row if the last dimension is indexed."""
    index, target, width = op["index"], op["self"], 1
    table = target.nbytes
    if index.shape and "dim" in op.args:
        dim = int(op.arg("dim")) % len(index.shape)
        width = expanded_width(index, dim)
        table = min(table, prod(target.shape[dim:]) * target.itemsize)
    return _written(
        op,
        index.nbytes,
        op.get("src") or op.get("source"),
        index.numel,
        width,
        variant=how,
        table_bytes=table,
        runs=-(-index.numel // max(1, min(width, SECTOR // target.itemsize))),
    )


@cost("aten.scatter_reduce.two", "aten.scatter_reduce_.two")
def scatter_reduce(op: Signature) -> tuple[Work, ...]:
    """Out of place, the target is copied twice (TensorAdvancedIndexing.cpp, `scatter_reduce_two`
    and `scatter_impl`). Without the old values, the targets are first set to the neutral element.
    A mean is a sum, divided by counts that a second scatter adds up."""
    target, source = op["self"], op["src"]
    how = op.arg("reduce")
    variant = "atomic" if how in ("sum", "mean") else "compared"
    *copies, write = _elements(op, variant)
    (neutral,) = _elements(_in_place(op, "aten.scatter_.value", "self", "index"), "elements")
    reset = () if op.arg("include_self", True) else (neutral,)
    n, size = target.numel, full_bytes(target)
    counted = (
        *fill_of(source),
        *fill_of(target),
        *_elements(_in_place(op, "aten.scatter_add_.default", "self", "index", "src"), "atomic"),
        pointwise(n, size, n),
        pointwise(n, size + n, size, flops=0, inputs=2),
        pointwise(n, 2 * size, size, inputs=2, slots=8),
    )
    return *copies * 2, *reset, write, *(counted if how == "mean" else ())


def _in_place(op: Signature, name: str, *names: str) -> Signature:
    """The op `name` on these operands of `op`, in place."""
    return replace(op, name=name, inputs=tuple(op[each] for each in names), names=names, aliases=())


@cost(
    *(
        f"aten.{name}{place}.default"
        for name in ("index_add", "index_copy", "index_reduce")
        for place in ("", "_")
    ),
    *(f"aten.index_fill{place}.int_{kind}" for place in ("", "_") for kind in ("Tensor", "Scalar")),
)
def index_rows(op: Signature) -> tuple[Work, ...]:
    """Write one slice along `dim` per index; a copy runs the kernel of `index_put`
    (IndexKernel.cu, `index_copy_kernel`)."""
    index, target = op["index"], op["self"]
    dim = int(op.arg("dim", 0)) % max(len(target.shape), 1)
    places = target.numel // max(target.shape[dim] if target.shape else 1, 1) * index.numel
    width = prod(target.shape[dim + 1 :])
    if "copy" in op.name:
        return _written(op, index.nbytes, op["source"], places, width, variant="index")
    steps = index.numel if index.numel <= FEW else 0
    return _written(
        op,
        index.nbytes,
        op.get("source"),
        places,
        width,
        variant="rows",
        steps=steps,
        few=steps > 0,
    )


def _indexed(op: Signature, target: Tensor) -> tuple[int, int]:
    """Number of elements of the indexed dimensions, and of those after them. A mask indexes as many
    dimensions as it has."""
    indices = iter(op.tensors("indices"))
    given: list[bool] = op.arg("indices_given", [True] * len(op.tensors("indices")))
    dim, end, indexed = 0, 0, 1
    for has_index in given:
        index = next(indices) if has_index else None
        dims = len(index.shape) if index is not None and index.dtype in MASKS else 1
        if index is not None:
            indexed, end = indexed * prod(target.shape[dim : dim + dims]), dim + dims
        dim += dims
    return max(1, indexed), prod(target.shape[end:])


@cost(
    "aten.index_put.default",
    "aten.index_put_.default",
    waits=indexes_by_data,
    traits=Traits(autocast="widest"),
)
@cost(
    "aten._index_put_impl_.default",
    "aten._index_put_impl.default",
    "aten._unsafe_index_put.default",
)
def index_put(op: Signature) -> tuple[Work, ...]:
    """x[indices] = values in one kernel; one value under a mask is a `masked_fill`.

    Accumulation sorts the flat indices to group equal ones (Indexing.cu, index_put_with_sort):
    check, wrap and scale each index, add them, divide by the size of a slice, number the results,
    sort, and sum. A check is a minimum or maximum, a comparison and an assertion; the host does not
    wait for it.

    An accumulating `index_put` that the code of a network does not call (`by_user`) is the gradient
    of indexing. The tracer and the recorder of ops see it as an out-of-place op. In a run without
    them, it writes into zeros that it has allocated, and checks nothing. In a whole step, Swin-T's
    twelve calls launch 84 fewer kernels (a copy and six kernels of checks each), and DLRM's call
    with two indices launches 13 fewer.
    """
    indices, values, target = op.tensors("indices"), op["values"], op["self"]
    accumulates = op.arg("accumulate", False)
    gradient = accumulates and op.name == "aten.index_put.default" and not op.arg("by_user", False)
    in_place = gradient or op.name.split(".")[1].endswith("_")
    first = () if in_place else (clone(target),)
    masked = all(i.dtype in MASKS for i in indices)
    if masked and values.numel == 1 and not accumulates:
        n = target.numel
        return *first, pointwise(n, indices[0].nbytes, n * target.itemsize, flops=0)
    index_dims = sum(len(i.shape) if i.dtype in MASKS else 1 for i in indices)
    indexed, adjacent = _indexed(op, target)
    slice_elements = target.numel // indexed
    places = indices[0].numel // 2 if masked else max(i.numel for i in indices)
    n = places * slice_elements
    touched = min(n * target.itemsize, target.nbytes)
    read = index_bytes(op, places) + values.nbytes + (touched if accumulates else 0)
    single = accumulates and adjacent == 1  # a warp adds one element after another
    variant = "single" if single else "sorted" if accumulates else "index"
    more = {"runs": n} if single else {}
    write = indexed_access(
        "scatter",
        n,
        slice_elements if accumulates else adjacent,
        read,
        touched,
        flops=int(accumulates),
        variant=variant,
        table_bytes=target.nbytes,
        **more,
    )
    if not accumulates:
        return *masks_of(op), *first, write
    size = 8 * places
    assertion = Work("assertion", read_bytes=1, instructions=2)
    check = (extreme(places, "int64"), helper_kernel(1, 8, 1), assertion)
    checks = () if gradient or op.arg("unsafe", False) else check * 2 * index_dims
    scaled = helper_kernel(places, size, size)  # wrap or scale each index; then add them
    linear = (scaled,) * 2 * index_dims + (helper_kernel(places, 2 * size, size, inputs=2),) * (
        index_dims - 1
    )
    packed = () if values.contiguous else (copy(values, values.numel * values.itemsize),)
    bits = max(1, indexed.bit_length())
    return (
        *masks_of(op),
        *first,
        *checks,
        *linear,
        *packed,
        scaled,
        index_range(places),
        *radix_sort(places, 8, 8, bits),
        write,
    )
