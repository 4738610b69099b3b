"""Indexed reads: rows, elements, masks, and the places that are not zero.

Bytes are one row per index, but at most the whole table, because shapes do not show which indices
repeat.
"""

from __future__ import annotations

from math import prod

from simulator.costs.compiled_traits import Traits, listed
from simulator.costs.indexing.host_reads import MASKS, indexes_by_data
from simulator.costs.kernels.launches import (
    indexed_access,
    pointwise,
    row_scan,
    to_host,
    whole_reduction,
)
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor

FEW = 16
"""Number of rows up to which one thread processes them serially (Indexing.cu,
`index_select_out_cuda_impl`, `index_add_cuda_impl`)."""
SECTOR = 32
"""Bytes of a memory transaction."""


def nonzero_of(mask: Tensor, has_any: bool = True) -> tuple[Work, ...]:
    """Count (the host waits for it), select the flat indices, split them into int64 coordinates.

    Half of the mask is assumed to be true, the default of the tracer.
    """
    n, selected = mask.numel, max(1, mask.numel // 2)
    count = whole_reduction(n, mask.nbytes, 8)
    split = (
        (pointwise(selected, 8 * selected, 8 * selected * len(mask.shape)),)
        if mask.shape and has_any
        else ()
    )
    return *count, to_host(8), *row_scan(n, mask.nbytes, 8 * selected), *split


def masks_of(op: Signature) -> tuple[Work, ...]:
    """Conversion of boolean indices to integers."""
    return tuple(w for i in op.tensors("indices") if i.dtype in MASKS for w in nonzero_of(i))


def index_bytes(op: Signature, places: int) -> int:
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
    word = max(1, min(width, SECTOR // table.itemsize))
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
    if index.numel <= FEW:
        return _pick(op, table, index.nbytes, width, variant="few", steps=index.numel)
    if dim == 0 and _words(table, width):
        return _whole_rows(op, table, index.nbytes, index.numel)
    return _elements(op, table, index.nbytes, width, "elements")


cost("aten.index_select.default", "aten.index_select.out", traits=Traits(slots=18))(rows)


@cost("aten.gather.default", "aten.gather.out", traits=listed(slots=18))
@cost("aten.take.default")
def gather(op: Signature) -> Work:
    """One kernel, which reads one element per index; rows in 16-byte words if a row is picked by
    one index that is repeated along it (ScatterGatherKernel.cu, `fast_gather_kernel_eligible`)."""
    table, index = op["self"], op["index"]
    if op.name == "aten.take.default" or not index.shape:
        return _elements(op, table, index.nbytes, 1, "elements")
    dim = int(op.arg("dim")) % len(index.shape)
    width = expanded_width(index, dim)
    picks_rows = prod(index.shape[:dim]) == 1 and 1 < width == prod(table.shape[dim + 1 :])
    if picks_rows and _words(table, width):
        return _whole_rows(op, table, index.nbytes, index.numel // width)
    return _elements(op, table, index.nbytes, width, "elements")


def expanded_width(index: Tensor, dim: int) -> int:
    """Number of neighbouring elements that one stored index picks: it is expanded along dimensions
    after the indexed one, `dim`, up to the last."""
    width = 1
    for size, step in list(zip(index.shape, index.stride, strict=True))[:dim:-1]:
        if step and size > 1:
            break
        width *= size
    return max(width, 1)


@cost("aten.index.Tensor", waits=indexes_by_data, traits=listed(slots=18))
@cost("aten._unsafe_index.Tensor")
def index(op: Signature) -> tuple[Work, ...]:
    """x[indices]: dimensions without an index are contiguous. A single index copies rows in 16-byte
    words (IndexKernel.cu, `gpu_index_kernel`)."""
    if op.out.numel == 0:
        return masks_of(op)
    indices, table = op.tensors("indices"), op["self"]
    index_dims = [max(1, len(i.shape)) if i.dtype in MASKS else 1 for i in indices]
    has_indices: list[bool] = op.arg("indices_given", [])
    first = all(has_indices[: sum(has_indices)])
    width = prod(table.shape[sum(index_dims) :]) if first else 1
    places = op.out.numel // max(width, 1)
    read = index_bytes(op, places)
    if first and sum(index_dims) == 1 and places > 1 and _words(table, width):
        return *masks_of(op), _whole_rows(op, table, read, places)
    return *masks_of(op), _elements(op, table, read, width, "index")


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
    return nonzero_of(op["self"], has_any=op.out.numel != 0)
