"""Every combination of several axes, predicted block by block; blocks of earlier calls are reused.

A block holds the combinations with the same values on the leading axes. Which axes lead depends on
what is shared: points of one GPU share its kernels' times, points that are traced or fused
separately share nothing along batch and sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from app.answers.sweeps.in_parts import is_slow, sizes_of
from app.time_left import running
from simulator.analysis.sweep import axis, sweep
from simulator.errors import InputError
from simulator.scenario.traces.families import expecting
from simulator.simulate.step_columns import COLUMNS, empty_table

if TYPE_CHECKING:
    from simulator.scenario.scenario import Scenario, Value

Axes = Mapping[str, Sequence["Value"]]
BlockKey = tuple[tuple[str, tuple["Value", ...]], ...]


@dataclass(frozen=True)
class Block:
    """The rows of a block in the order of `COLUMNS`, and which of them have no answer."""

    table: NDArray[np.float64]
    refused: tuple[int, ...]

    def bytes(self) -> bytes:
        """The table, row by row."""
        return np.ascontiguousarray(self.table).tobytes()


Known = dict[BlockKey, Block]
"""Blocks by their axes and values."""
_SHARED, _SIZES = ("mode", "host_speed"), ("batch", "seq")
_MOST, _MOST_SLOW = 1024, 32
"""The largest number of combinations in a block: up to about 0.3 s of work, or 0.5 s of slow
points."""


@dataclass(frozen=True)
class Combined:
    """The combinations of axes that are predicted so far, the last axis varying fastest.

    rows     the indices of the predicted combinations among all, ascending
    columns  the columns of `step_columns`, one row for each of `rows`
    refused  the number of predicted combinations without an answer; their rows are left out
    missing  the number of combinations that are not predicted yet
    """

    axes: Axes
    rows: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.float64]]
    refused: int = 0
    missing: int = 0


def combine(
    scenario: Scenario,
    axes: Axes,
    cancelled: Callable[[], None],
    so_far: Callable[[Combined], None] = lambda part: None,
    known: Known | None = None,
) -> Combined:
    """Predict every combination of the axes' values. `cancelled` raises to stop; `so_far` receives
    the combinations predicted after each block except the last; `known` holds blocks of earlier
    calls, and receives the new ones."""
    known = {} if known is None else known
    answers = _Answers(axes)
    missing: list[tuple[BlockKey, Axes]] = []
    with expecting(*sizes_of(axes)):
        for block in _blocks(scenario, axes):
            cancelled()
            key = tuple((name, tuple(values)) for name, values in block.items())
            if key in known:
                answers.add(block, known[key])
            else:
                missing.append((key, block))
        running().count(answers.done, answers.total, "points")
        if answers.done and missing:
            so_far(answers.combined())
        for key, block in missing:
            done = answers.done

            def counted(more: int, done: int = done) -> None:
                cancelled()
                if more:
                    running().count(done + more, answers.total, "points")

            swept = sweep(scenario, block, counted=counted)
            cancelled()
            table = np.stack([swept.columns[name] for name in COLUMNS], axis=1)
            known[key] = Block(table, tuple(swept.refused))
            answers.add(block, known[key])
            running().count(answers.done, answers.total, "points")
            if answers.done < answers.total:
                so_far(answers.combined())
    return answers.combined()


class _Answers:
    """The table of all combinations, filled block by block."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self.total = prod(map(len, axes.values()))
        self._place = {
            name: {value: at for at, value in enumerate(values)} for name, values in axes.items()
        }
        self._rows = np.arange(self.total).reshape([len(values) for values in axes.values()])
        self._table = empty_table(self.total)
        self._state = np.zeros(self.total, np.int8)  # 1 is predicted, 2 is refused

    @property
    def done(self) -> int:
        """The number of combinations that were predicted or refused."""
        return int(np.count_nonzero(self._state))

    def add(self, block: Axes, answered: Block) -> None:
        """Fill in the combinations of a block."""
        places = [[self._place[name][value] for value in block[name]] for name in self.axes]
        rows = self._rows[np.ix_(*places)].ravel()
        self._table[rows] = answered.table
        self._state[rows] = 1
        self._state[rows[list(answered.refused)]] = 2

    def combined(self) -> Combined:
        """The combinations so far."""
        rows = np.flatnonzero(self._state == 1)
        return Combined(
            self.axes,
            rows,
            {name: self._table[rows, i] for i, name in enumerate(COLUMNS)},
            int(np.count_nonzero(self._state == 2)),
            int(np.count_nonzero(self._state == 0)),
        )


def _blocks(scenario: Scenario, axes: Axes) -> Iterator[Axes]:
    """The axes of each block, in the order of `axes`; leading axes have a single value."""
    dtypes = axes.get("precision", ())
    if len(dtypes) > 1:  # each dtype has its own traces, which may be packaged or not
        for dtype in dtypes:
            yield from _blocks(scenario, {**axes, "precision": (dtype,)})
        return
    slow = _is_slow(scenario, axes)
    order = sorted(axes, key=lambda name: _rank(name, slow))
    most = _MOST_SLOW if slow else _MOST
    leading: list[str] = []
    while prod(len(axes[name]) for name in order if name not in leading) > most:
        leading.append(order[len(leading)])
    counts = [len(axes[name]) for name in leading]
    for at in np.ndindex(*counts):
        own: dict[str, tuple[Value, ...]] = {
            name: (axes[name][i],) for name, i in zip(leading, at, strict=True)
        }
        yield {**axes, **own}


def _is_slow(scenario: Scenario, axes: Axes) -> bool:
    """Whether predicting many points is slow, at the first dtype of the axes."""
    others = {name: values for name, values in axes.items() if name != "precision"}
    try:
        if "precision" in axes:
            scenario = axis(scenario, "precision").at(scenario, axes["precision"][0])
        return is_slow(scenario, others)
    except InputError:  # refused, which is quick
        return False


def _rank(name: str, slow: bool) -> int:
    """The rank of an axis: axes of low rank lead. Points that differ only in host or mode share all
    other work."""
    if name in _SHARED:
        return 3
    if name in _SIZES:
        return 0 if slow else 4
    return 1 if name == "gpu" else 2
