"""Predict a design into its file: what is missing, until nothing is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from simulator.analysis.design.engines import Chunk, Engine, EngineLostError, task
from simulator.analysis.design.rows_file import RowsFile
from simulator.errors import InputError

Progress = Callable[[int, int, float], None]
"""Called with the rows so far, the rows of the design, and the seconds that are left."""
_MOST = 512  # points of a chunk
_LEAST = 16
_CHUNKS = 32  # at least, of a design that is large enough: for processes to share


def run(
    rows: RowsFile,
    engine: Engine,
    progress: Progress = lambda done, total, left_s: None,
    name: str = "local",
) -> None:
    """Predict the points that have no row. Where processes end, their points are predicted again.

    Raises InputError, with the engine's name, if it is lost and brought no row since it was lost
    before; the rows so far are in the file, and another run goes on from them.
    """
    run_task = task(rows.design)
    total, began, at_first = len(rows.design.points), perf_counter(), len(rows)
    while missing := rows.missing():
        before = len(rows)
        try:
            for part in engine(run_task, chunks(missing)):
                rows.append(part)
                done = len(rows)
                each_s = (perf_counter() - began) / max(done - at_first, 1)
                progress(done, total, each_s * (total - done))
        except EngineLostError as error:
            if len(rows) == before:
                raise InputError(
                    f"--engine {name}: {error}: {len(rows):,} of {total:,} rows are in "
                    f"{rows.path}; run the same command again to go on"
                ) from error


def chunks(points: Sequence[int]) -> Iterator[Chunk]:
    """The points in pieces, small enough that processes share few of them evenly."""
    size = max(_LEAST, min(_MOST, len(points) // _CHUNKS))
    return (list(points[at : at + size]) for at in range(0, len(points), size))
