"""Indexed writes, and the sort that an accumulating one launches.

Bytes are one row per index, but at most the whole table, because shapes do not show which indices
repeat.
"""

from __future__ import annotations

from math import prod

from simulator.costs.compiled_traits import Traits
from simulator.costs.indexing.gathers import FEW, SECTOR, expanded_width, index_bytes, masks_of
from simulator.costs.indexing.host_reads import MASKS, indexes_by_data
from simulator.costs.kernels.launches import (
    clone,
    copy,
    helper_kernel,
    index_range,
    indexed_access,
    pointwise,
    reduction,
)
from simulator.costs.kernels.radix import radix_sort
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
    write = indexed_access(
        "scatter", places, width, read, touched, flops=int(reads), table_bytes=target.nbytes, **dims
    )
    in_place = op.name.split(".")[1].endswith("_") or op.arg("into_zeros", False)
    return (write,) if in_place else (clone(target), write)


@cost(
    *(
        f"aten.{name}.{kind}"
        for name in ("scatter", "scatter_")
        for kind in ("src", "value", "reduce", "value_reduce")
    ),
    "aten.scatter_add_.default",
    "aten.scatter_reduce.two",
    "aten.scatter_reduce_.two",
    "aten.put.default",
    "aten.put_.default",
)
@cost("aten.scatter_add.default", traits=Traits(autocast="widest"))
def scatter(op: Signature) -> tuple[Work, ...]:
    """Write one element per index."""
    index, width = op["index"], 1
    if index.shape and "dim" in op.args:
        width = expanded_width(index, int(op.arg("dim")) % len(index.shape))
    return _written(
        op,
        index.nbytes,
        op.get("src") or op.get("source"),
        index.numel,
        width,
        variant="elements",
        runs=-(-index.numel // max(1, min(width, SECTOR // op["self"].itemsize))),
    )


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

    An accumulating `index_put` is the gradient of indexing. The tracer and the recorder of ops see
    it as an out-of-place op. In a run without them, it writes into zeros that it has allocated, and
    checks nothing. In a whole step, Swin-T's twelve calls launch 84 fewer kernels (a copy and six
    kernels of checks each), and DLRM's call with two indices launches 13 fewer.
    """
    indices, values, target = op.tensors("indices"), op["values"], op["self"]
    accumulates = op.arg("accumulate", False)
    gradient = accumulates and op.name == "aten.index_put.default"
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
    variant = "sorted" if accumulates else "index"
    write = indexed_access(
        "scatter",
        n,
        slice_elements if accumulates else adjacent,
        read,
        touched,
        flops=int(accumulates),
        variant=variant,
        table_bytes=target.nbytes,
    )
    if not accumulates:
        return *masks_of(op), *first, write
    size = 8 * places
    assertion = Work("assertion", read_bytes=1, instructions=2)
    extreme = (reduction(1, places, size, 8), helper_kernel(1, 8, 1), assertion)
    checks = () if gradient or op.arg("unsafe", False) else extreme * 2 * index_dims
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
