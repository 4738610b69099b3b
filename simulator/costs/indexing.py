"""Ops that read or write where an index says, and the sorts and scans that some consist of.

Bytes are those of the rows that are touched, never of the whole table, and each row once: how
often an index repeats is data, so a table bounds what can be read of it.
"""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs.launches import (
    clone,
    copy,
    fill_like,
    moved,
    pointwise,
    radix_sort,
    reduction,
    row_scan,
    to_host,
    whole_reduction,
)
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor

Works = tuple[Work, ...]
_SMALL_EMBEDDING = 3072
"""Indices up to which EmbeddingBackwardKernel.cu does without a sort."""
_MASKS = ("bool", "uint8")


def nonzero_of(mask: Tensor) -> Works:
    """Count (the host waits for it), select the flat places, split them into coordinates.

    Half of a mask is taken as kept, the tracer's default; int64 coordinates.
    """
    n, kept = mask.numel, max(1, mask.numel // 2)
    count = whole_reduction(n, mask.nbytes, 8)
    split = (pointwise(kept, 8 * kept, 8 * kept * len(mask.shape)),) if mask.shape else ()
    return *count, to_host(8), *row_scan(n, mask.nbytes, 8 * kept), *split


def _masks(op: Signature) -> Works:
    """A boolean index is turned into integers first."""
    return tuple(w for i in op.tensors("indices") if i.dtype in _MASKS for w in nonzero_of(i))


def _index_bytes(op: Signature, places: int) -> int:
    """Integer indices, or the int64 coordinates that stand for a mask."""
    return sum(
        8 * places * len(i.shape) if i.dtype in _MASKS else i.nbytes for i in op.tensors("indices")
    )


def _pick(op: Signature, table: Tensor, index: int, width: int) -> Work:
    n = op.out.numel
    rows = min(n * table.itemsize, table.nbytes)
    return moved("gather", n, width, rows + index, n * op.out.itemsize)


@cost("aten.embedding.default", "aten.index_select.default", "aten.take.default")
@cost("aten.gather.default", "aten.gather.out", "aten.index_select.out")
def gather(op: Signature) -> Work:
    """One kernel: each element of the result from the place that the index names."""
    table = op.get("weight") or op["self"]
    index = op.get("indices") or op["index"]
    dim = op.arg("dim", 0) if "select" in op.name else 0
    rows = "embedding" in op.name or "select" in op.name
    return _pick(op, table, index.nbytes, prod(table.shape[dim:][1:]) if rows else 1)


@cost("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(op: Signature) -> Works:
    """x[indices]: the dimensions that no index takes lie side by side."""
    if op.out.numel == 0:
        return _masks(op)
    taken = [max(1, len(i.shape)) if i.dtype in _MASKS else 1 for i in op.tensors("indices")]
    given: list[bool] = op.arg("indices_given", [True] * len(taken))
    width = prod(op["self"].shape[sum(taken) :]) if all(given[: sum(given)]) else 1
    places = op.out.numel // max(width, 1)
    return *_masks(op), _pick(op, op["self"], _index_bytes(op, places), width)


@cost("aten.masked_select.default")
def masked_select(op: Signature) -> Works:
    """x[mask], of the mask spread to x's shape."""
    kept = op.out.numel
    found = _pick(op, op["self"], 8 * kept * len(op["mask"].shape), 1)
    return *nonzero_of(op["mask"]), found


@cost("aten.nonzero.default", "aten.nonzero_static.default")
def nonzero(op: Signature) -> Works:
    """The places of a tensor's nonzero elements."""
    return nonzero_of(op["self"])


def _written(op: Signature, index: int, source: Tensor | None, places: int, width: int) -> Works:
    """A clone unless in place, then one kernel; an addition reads what it adds to."""
    target = op["self"]
    touched = min(places * target.itemsize, target.nbytes)
    reads = any(word in op.name for word in ("add", "reduce")) or op.arg("accumulate", False)
    read = index + (source.nbytes if source is not None else 0) + (touched if reads else 0)
    write = moved("scatter", places, width, read, touched, flops=int(reads))
    in_place = op.name.split(".")[1].endswith("_")
    return (write,) if in_place else (clone(target), write)


@cost(
    *(f"aten.{name}.{kind}" for name in ("scatter", "scatter_")
      for kind in ("src", "value", "reduce", "value_reduce")),
    "aten.scatter_add.default", "aten.scatter_add_.default",
    "aten.scatter_reduce.two", "aten.scatter_reduce_.two", "aten.put.default", "aten.put_.default",
)  # fmt: skip
def scatter(op: Signature) -> Works:
    """One element for each of the index."""
    index = op["index"]
    return _written(op, index.nbytes, op.get("src") or op.get("source"), index.numel, 1)


@cost(
    *(f"aten.{name}{place}.default" for name in ("index_add", "index_copy", "index_reduce")
      for place in ("", "_")),
    *(f"aten.index_fill{place}.int_{kind}" for place in ("", "_") for kind in ("Tensor", "Scalar")),
)  # fmt: skip
def index_rows(op: Signature) -> Works:
    """One slice across `dim` for each of the index."""
    index, target = op["index"], op["self"]
    dim = int(op.arg("dim", 0)) % max(len(target.shape), 1)
    places = target.numel // max(target.shape[dim] if target.shape else 1, 1) * index.numel
    return _written(op, index.nbytes, op.get("source"), places, prod(target.shape[dim + 1 :]))


@cost(
    "aten.index_put.default", "aten.index_put_.default", "aten._index_put_impl_.default",
    "aten._index_put_impl.default", "aten._unsafe_index_put.default",
)  # fmt: skip
def index_put(op: Signature) -> Works:
    """x[indices] = values in one kernel; one value under a mask is a `masked_fill`.

    Accumulating sorts the places, so that equal ones meet (Indexing.cu, index_put_with_sort): each
    index checked, wrapped and scaled, all added, divided by the slice, numbered, sorted, summed.
    A check is an extremum, its comparison and an assertion, which the host does not wait for.
    """
    indices, values, target = op.tensors("indices"), op["values"], op["self"]
    accumulates = op.arg("accumulate", False)
    first = () if op.name.split(".")[1].endswith("_") else (clone(target),)
    masked = all(i.dtype in _MASKS for i in indices)
    if masked and values.numel == 1 and not accumulates:
        n = target.numel
        return *first, pointwise(n, indices[0].nbytes, n * target.itemsize, flops=0)
    taken = sum(len(i.shape) if i.dtype in _MASKS else 1 for i in indices)
    width = prod(target.shape[taken:])
    places = indices[0].numel // 2 if masked else max(i.numel for i in indices)
    n = places * width
    touched = min(n * target.itemsize, target.nbytes)
    read = _index_bytes(op, places) + values.nbytes + (touched if accumulates else 0)
    write = moved("scatter", n, width, read, touched, flops=int(accumulates))
    if not accumulates:
        return *_masks(op), *first, write
    size = 8 * places
    extreme = (reduction(1, places, size, 8), pointwise(1, 8, 1), pointwise(1, 1, 0))
    checks = () if op.arg("unsafe", False) else extreme * 2 * taken
    one = pointwise(places, size, size)  # wrap or scale each index; all but the first are added
    linear = (one,) * 2 * taken + (pointwise(places, 2 * size, size, inputs=2),) * (taken - 1)
    packed = () if values.contiguous else (copy(values, values.numel * values.itemsize),)
    number = pointwise(places, 0, size, flops=0, inputs=0)
    bits = max(1, (target.numel // max(width, 1)).bit_length())
    return (
        *_masks(op), *first, *checks, *linear, *packed, one, number,
        *radix_sort(places, 8, 8, bits), write,
    )  # fmt: skip


@cost("aten.masked_scatter.default", "aten.masked_scatter_.default")
def masked_scatter(op: Signature) -> Works:
    """Each kept place takes the next of the source: a scan of the mask, a check, the scatter."""
    target, mask = op["self"], op["mask"]
    n, half = target.numel, target.numel * target.itemsize // 2
    first = () if op.name == "aten.masked_scatter_.default" else (clone(target),)
    check = pointwise(1, mask.itemsize + 8, 0)
    write = moved("scatter", n, 1, mask.nbytes + 8 * n + half, half)
    return *first, *row_scan(n, mask.nbytes, 8 * n), check, write


def _dense_gradient(op: Signature, n: int, width: int, *, bags: bool) -> Works:
    """Zeros for every row, and the gradient's n rows added to those that were looked up.

    With a sort: the gradient's rows side by side, numbers, the sort by all 64 bits, zeros; then
    which are the first of their row, into how many parts of 10 each row falls, where those begin,
    how many there are, where each lies. An embedding's parts are added to their rows by atomics;
    those of bags are summed in float32 and then scattered (EmbeddingBackwardKernel.cu).
    """
    out, grad = op.out, op.inputs[0]
    touched = min(n * width * out.itemsize, out.nbytes)
    size, read = 8 * n, 8 * n + grad.nbytes
    rows = () if grad.contiguous else (copy(grad, grad.numel * grad.itemsize),)
    number, each = pointwise(n, 0, size, flops=0, inputs=0), pointwise(n, size, size)
    select, parts = row_scan(n, size, size), -(-n // 10)
    if bags:
        add = (
            moved("gather", n * width, width, read, 4 * parts * width, flops=1),
            moved("scatter", parts * width, width, 4 * parts * width, touched, flops=1),
        )
    else:
        found = pointwise(parts, 16 * parts, 8 * parts)
        add = (found, moved("scatter", n * width, width, read + touched, touched, flops=1))
    return (
        *rows, number, *radix_sort(n, 8, 8), fill_like(out), *select, each, *select,
        pointwise(1, 16, 8), each, *add,
    )  # fmt: skip


def _few_rows(op: Signature, n: int, width: int) -> Works:
    """Zeros, and one kernel of which every block looks at every index."""
    out, grad = op.out, op.inputs[0]
    touched = min(n * width * out.itemsize, out.nbytes)
    read = 8 * n + grad.nbytes + touched
    add = moved("embedding_backward", n * width, width, read, touched, flops=1)
    return fill_like(out), replace(add, dims={**add.dims, "steps": n})


@cost("aten.embedding_dense_backward.default")
def embedding_backward(op: Signature) -> Works:
    """Up to 3,072 indices one kernel adds the rows; more are sorted first."""
    n, width = op["indices"].numel, op.out.shape[-1]
    if n <= _SMALL_EMBEDDING and not op.arg("scale_grad_by_freq", False):
        return _few_rows(op, n, width)
    return _dense_gradient(op, n, width, bags=False)


@cost("aten._embedding_bag.default", "aten._embedding_bag_forward_only.default")
def embedding_bag(op: Signature) -> Work:
    """One kernel: the rows of each bag read once and summed (mode 0), averaged or maximised."""
    table, n = op["weight"], op["indices"].numel
    width = table.shape[1]
    weights = op.get("per_sample_weights")
    other = sum(t.nbytes for t in (op["indices"], op["offsets"], weights) if t is not None)
    rows = min(n * width * table.itemsize, table.nbytes)
    return moved("gather", n * width, width, rows + other, op.write_bytes, flops=1)


@cost("aten._embedding_bag_dense_backward.default", "aten._embedding_bag_backward.default")
def embedding_bag_backward(op: Signature) -> Works:
    """A sum or mean sorts its indices, whatever their number; a maximum adds one row a bag."""
    n, width = op["indices"].numel, op.out.shape[-1]
    if op.arg("mode", 0) == 2:
        return _few_rows(op, op["grad"].shape[0], width)
    return _dense_gradient(op, n, width, bags=True)


@cost("aten._embedding_bag_per_sample_weights_backward.default")
def embedding_bag_weights_backward(op: Signature) -> Work:
    """The product of each looked-up row with its bag's gradient."""
    table, n = op["weight"], op["indices"].numel
    width = table.shape[1]
    rows = min(n * width * table.itemsize, table.nbytes)
    read = rows + op["grad"].nbytes + 16 * n
    return moved("gather", n * width, width, read, op.out.nbytes, flops=2)
