"""Predict the missing points of a design and append them to its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from time import perf_counter

from simulator.analysis.design.engines import Chunk, Engine, EngineLostError, task
from simulator.analysis.design.rows_file import RowsFile
from simulator.errors import InputError

Progress = Callable[[int, int, float], None]
"""Called with the number of rows so far, the number of rows of the design, and the seconds left."""
_MOST = 4096  # points per chunk: maximum and minimum
_LEAST = 16
_CHUNKS = 32  # minimum number of chunks of a large design, so that processes can share the work


def run(
    rows: RowsFile,
    engine: Engine,
    progress: Progress = lambda done, total, left_s: None,
    name: str = "local",
) -> None:
    """Predict the points that have no row. If processes end, their points are predicted again.

    Raises InputError if the engine is lost twice without a new row in between; the rows so far are
    in the file, and another run continues from them.
    """
    run_task = task(rows.design)
    total, began, at_first = len(rows.design.points), perf_counter(), len(rows)
    while missing := rows.missing():
        before = len(rows)
        try:
            for part in engine(run_task, chunks(missing, rows.design.block)):
                rows.append(part)
                done = len(rows)
                each_s = (perf_counter() - began) / max(done - at_first, 1)
                progress(done, total, each_s * (total - done))
        except EngineLostError as error:
            if len(rows) == before:
                raise InputError(
                    f"--engine {name}: {error}: {len(rows):,} of {total:,} rows are in "
                    f"{rows.path}; run the same command again to continue"
                ) from error


def chunks(points: Sequence[int], block: int = 1) -> Iterator[Chunk]:
    """The points in chunks, small enough that processes share even a few points evenly. The points
    of a block of so many successive points are predicted fastest together: a chunk is several whole
    blocks, or an equal part of one."""
    size = max(_LEAST, min(_MOST, len(points) // _CHUNKS))
    if block > size:
        whole, size = block, -(-block // round(block / size))
    else:
        whole = size = block * (size // block)
    near = groupby(points, lambda point: point // whole) if block > 1 else [(0, points)]
    for _, together in near:
        each = list(together)
        yield from (each[at : at + size] for at in range(0, len(each), size))
