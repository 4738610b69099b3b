"""The loop nests to which Inductor lowers a reduction: one, or two if it is split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulator.fusion.lowering.access import first_adjacent, strides_apart
from simulator.fusion.lowering.reductions import parts
from simulator.fusion.node import Key

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering

_SUM_BYTES = 4  # sums are in fp32


def reduce(
    lowering: Lowering,
    index: int,
    rows: int,
    cols: int,
    inner: bool,
    reads: dict[Key, int],
    results: Sequence[tuple[Key, int]],
    work: tuple[int, int],
    moments: bool = False,
    first: bool = False,
) -> None:
    """Lower a reduction to `results` (value, bytes), in the number of steps that Inductor takes.
    For moments, each step is split again and carries three numbers; for sums, the second step is
    the last, with one kernel per result. If `first`, the reduced dimensions are the first ones of
    the reads, else the last ones."""
    ops = (index,)
    if first:
        inner = _along_first(lowering, rows * cols, reads)
    else:
        inner = inner and not _outer(lowering, rows * cols, reads)
    split = parts(rows, cols, inner, lowering.gpu)
    while split > 1:
        partial: list[tuple[Key, int]] = [
            (next(lowering.number), rows * split * _SUM_BYTES)
            for _ in range(3 if moments else len(results))
        ]
        node = lowering.node("reduction", rows * split, -(-cols // split), inner, reads, ops, *work)
        node.writes |= dict(partial)
        node.partial = True
        lowering.nodes.append(node)
        reads, work, cols = dict(partial), (0, rows * split * 3), split
        split = parts(rows, cols, False, lowering.gpu) if moments else 1
        if not moments:
            for part, result in zip(partial, results, strict=True):
                last = lowering.node("reduction", rows, cols, True, dict([part]), ops, *work)
                last.writes |= dict([result])
                lowering.nodes.append(last)
            return
        inner = False
    node = lowering.node(
        "reduction", rows, cols, inner or bool(reads and cols <= 16), reads, ops, *work
    )
    node.writes |= dict(results)
    lowering.nodes.append(node)


def _outer(lowering: Lowering, elements: int, reads: dict[Key, int]) -> bool:
    """Whether at least half of the reads of whole values go across memory (`Reduction.num_splits`
    of ir.py)."""
    outer = [
        _reads_across(lowering, key)
        for key, size in lowering.through(reads)[0].items()
        if size >= elements
    ]
    return any(outer) and 2 * sum(outer) >= len(outer)


def _along_first(lowering: Lowering, elements: int, reads: dict[Key, int]) -> bool:
    """Whether more than half of the reads of whole values are contiguous along their first
    dimension, like those of a transposed matrix."""
    whole = [key for key, size in lowering.through(reads)[0].items() if size >= elements]
    if not lowering.inductor or lowering.calls.channels_last:
        return False
    return 2 * sum(map(first_adjacent, whole)) > len(whole)


def _reads_across(lowering: Lowering, key: Key) -> bool:
    """Whether a read goes across memory. Values that leave the graph have the layout of eager mode
    (config.keep_output_stride)."""
    tensor = lowering.computed.get(key) if key in lowering.flow.stored else None
    if tensor is None or not lowering.inductor or lowering.calls.channels_last:
        return strides_apart(key)
    return len(tensor.shape) > 1 and tensor.shape[-1] > 1 and tensor.stride[-1] != 1
