"""Indexed reads and writes, and the sorts and scans that some of them launch.

Bytes are one row per index, but at most the whole table, because shapes do not show which indices
repeat.
"""

from __future__ import annotations

from math import prod

from simulator.costs.compiled_traits import Traits, listed
from simulator.costs.indexing.host_reads import MASKS, indexes_by_data
from simulator.costs.kernels.launches import (
    clone,
    copy,
    helper_kernel,
    index_range,
    indexed_access,
    pointwise,
    reduction,
    row_scan,
    to_host,
    whole_reduction,
)
from simulator.costs.kernels.radix import radix_sort
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor

_FEW = 16
"""Number of rows up to which one thread processes them serially (Indexing.cu,
`index_select_out_cuda_impl`, `index_add_cuda_impl`)."""


def nonzero_of(mask: Tensor) -> tuple[Work, ...]:
    """Count (the host waits for it), select the flat indices, split them into int64 coordinates.

    Half of the mask is assumed to be true, the default of the tracer.
    """
    n, selected = mask.numel, max(1, mask.numel // 2)
    count = whole_reduction(n, mask.nbytes, 8)
    split = (
        (pointwise(selected, 8 * selected, 8 * selected * len(mask.shape)),) if mask.shape else ()
    )
    return *count, to_host(8), *row_scan(n, mask.nbytes, 8 * selected), *split


def _masks(op: Signature) -> tuple[Work, ...]:
    """Conversion of boolean indices to integers."""
    return tuple(w for i in op.tensors("indices") if i.dtype in MASKS for w in nonzero_of(i))


def _index_bytes(op: Signature, places: int) -> int:
    """Bytes of integer indices, or of the int64 coordinates of a mask."""
    return sum(
        8 * places * len(i.shape) if i.dtype in MASKS else i.nbytes for i in op.tensors("indices")
    )


def _pick(op: Signature, table: Tensor, index: int, width: int, **dims: float | str) -> Work:
    n = op.out.numel
    rows = min(n * table.itemsize, table.nbytes)
    dims = {"table_bytes": table.nbytes, **dims}
    return indexed_access("gather", n, width, rows + index, n * op.out.itemsize, flops=0, **dims)


def _whole_rows(op: Signature, table: Tensor, index: int, picks: int) -> Work:
    """One kernel with a block per 4 KiB of each row, copied in words of 16 bytes
    (`vectorized_gather_kernel`)."""
    width = op.out.numel // max(picks, 1)
    parts = -(-width * table.itemsize // 4096)
    return _pick(op, table, index, width, variant="rows", runs=picks * parts)


def _elements(op: Signature, table: Tensor, index: int, width: int, variant: str) -> Work:
    """One kernel that copies element by element; neighbours in a row share 32-byte sectors."""
    word = max(1, min(width, 32 // table.itemsize))
    return _pick(op, table, index, width, variant=variant, runs=-(-op.out.numel // word))


def _words(table: Tensor, width: int) -> bool:
    """Whether every row is a whole number of 16-byte words (`fast_gather_kernel_eligible`)."""
    return table.contiguous and width * table.itemsize % 16 == 0


def rows(op: Signature) -> Work:
    """Rows by index: each thread processes up to 16 rows serially (`indexSelectSmallIndex`); more
    rows are copied in 16-byte words, or element by element if a row is not a whole number of
    words."""
    table = op.get("weight") or op["self"]
    index = op.get("indices") or op["index"]
    dim = op.arg("dim", 0) if "select" in op.name else 0
    dim %= max(len(table.shape), 1)
    width = prod(table.shape[dim:][1:])
    if index.numel <= _FEW:
        return _pick(op, table, index.nbytes, width, variant="few", steps=index.numel)
    if dim == 0 and _words(table, width):
        return _whole_rows(op, table, index.nbytes, index.numel)
    return _elements(op, table, index.nbytes, width, "elements")


cost("aten.index_select.default", "aten.index_select.out", traits=Traits(slots=18))(rows)


@cost("aten.gather.default", "aten.gather.out", traits=listed(slots=18))
@cost("aten.take.default")
def gather(op: Signature) -> Work:
    """One kernel, which reads one element per index."""
    return _elements(op, op["self"], op["index"].nbytes, 1, "elements")


@cost("aten.index.Tensor", waits=indexes_by_data, traits=listed(slots=18))
@cost("aten._unsafe_index.Tensor")
def index(op: Signature) -> tuple[Work, ...]:
    """x[indices]: dimensions without an index are contiguous. A single index copies rows in 16-byte
    words (IndexKernel.cu, `gpu_index_kernel`)."""
    if op.out.numel == 0:
        return _masks(op)
    indices, table = op.tensors("indices"), op["self"]
    index_dims = [max(1, len(i.shape)) if i.dtype in MASKS else 1 for i in indices]
    has_indices: list[bool] = op.arg("indices_given", [])
    first = all(has_indices[: sum(has_indices)])
    width = prod(table.shape[sum(index_dims) :]) if first else 1
    places = op.out.numel // max(width, 1)
    read = _index_bytes(op, places)
    if first and sum(index_dims) == 1 and places > 1 and _words(table, width):
        return *_masks(op), _whole_rows(op, table, read, places)
    return *_masks(op), _elements(op, table, read, width, "index")


@cost("aten.masked_select.default", waits=True, data_dependent=True)
def masked_select(op: Signature) -> tuple[Work, ...]:
    """x[mask], with the mask broadcast to the shape of x."""
    elements = op.out.numel
    gather = _elements(op, op["self"], 8 * elements * len(op["mask"].shape), 1, "index")
    return *nonzero_of(op["mask"]), gather


@cost("aten.nonzero.default", waits=True, data_dependent=True)
@cost("aten.nonzero_static.default")
def nonzero(op: Signature) -> tuple[Work, ...]:
    """Indices of the nonzero elements of a tensor."""
    return nonzero_of(op["self"])


def _written(
    op: Signature,
    index: int,
    source: Tensor | None,
    places: int,
    width: int,
    **dims: float | str,
) -> tuple[Work, ...]:
    """A clone unless the op works in place, then one kernel; an addition also reads its target."""
    target = op["self"]
    touched = min(places * target.itemsize, target.nbytes)
    reads = any(word in op.name for word in ("add", "reduce")) or op.arg("accumulate", False)
    read = index + (source.nbytes if source is not None else 0) + (touched if reads else 0)
    write = indexed_access(
        "scatter", places, width, read, touched, flops=int(reads), table_bytes=target.nbytes, **dims
    )
    in_place = op.name.split(".")[1].endswith("_")
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
@cost("aten.scatter_add.default", traits=Traits(kind="library", autocast="widest"))
def scatter(op: Signature) -> tuple[Work, ...]:
    """Write one element per index."""
    index = op["index"]
    return _written(
        op,
        index.nbytes,
        op.get("src") or op.get("source"),
        index.numel,
        1,
        variant="elements",
        runs=index.numel,
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
    """Write one slice along `dim` per index."""
    index, target = op["index"], op["self"]
    dim = int(op.arg("dim", 0)) % max(len(target.shape), 1)
    places = target.numel // max(target.shape[dim] if target.shape else 1, 1) * index.numel
    width = prod(target.shape[dim + 1 :])
    steps = index.numel if index.numel <= _FEW else 0
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
    width = prod(target.shape[index_dims:])
    places = indices[0].numel // 2 if masked else max(i.numel for i in indices)
    n = places * width
    touched = min(n * target.itemsize, target.nbytes)
    read = _index_bytes(op, places) + values.nbytes + (touched if accumulates else 0)
    variant = "sorted" if accumulates else "index"
    write = indexed_access(
        "scatter",
        n,
        width,
        read,
        touched,
        flops=int(accumulates),
        variant=variant,
        table_bytes=target.nbytes,
    )
    if not accumulates:
        return *_masks(op), *first, write
    size = 8 * places
    assertion = Work("assertion", read_bytes=1, instructions=2)
    extreme = (reduction(1, places, size, 8), helper_kernel(1, 8, 1), assertion)
    checks = () if gradient or op.arg("unsafe", False) else extreme * 2 * index_dims
    scaled = helper_kernel(places, size, size)  # wrap or scale each index; then add them
    linear = (scaled,) * 2 * index_dims + (helper_kernel(places, 2 * size, size, inputs=2),) * (
        index_dims - 1
    )
    packed = () if values.contiguous else (copy(values, values.numel * values.itemsize),)
    bits = max(1, (target.numel // max(width, 1)).bit_length())
    return (
        *_masks(op),
        *first,
        *checks,
        *linear,
        *packed,
        scaled,
        index_range(places),
        *radix_sort(places, 8, 8, bits),
        write,
    )
