"""Slow sweeps, predicted in parts; the parts predicted so far form a sweep that can be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from app.time_left import running
from simulator.analysis.sweep import Sweep, sweep
from simulator.modes import compiles
from simulator.scenario.resolve import resolve
from simulator.scenario.trace_source import family
from simulator.scenario.traces.families import expecting
from simulator.simulate.step_columns import COLUMNS

if TYPE_CHECKING:
    from simulator.scenario.scenario import Scenario, Value

Axes = Mapping[str, Sequence["Value"]]
_FEW_GPUS = 16
"""With more GPUs than this, the network's ops differ between them, and it is traced several
times."""


def is_slow(scenario: Scenario, axes: Axes) -> bool:
    """Whether many points are slow because each one is fused or traced separately."""
    resolved = resolve(scenario)
    modes = (resolved.mode, *axes.get("mode", ()))
    if any(compiles(str(mode)) for mode in modes) or "precision" in axes:
        return True
    if len(axes.get("gpu", ())) > _FEW_GPUS:
        return True
    if resolved.request.saved or not {"batch", "seq"} & set(axes):
        return False
    with expecting(*sizes_of(axes)):
        return family(resolved) is None


def in_parts(
    scenario: Scenario,
    axes: Axes,
    order: Sequence[int],
    cancelled: Callable[[], None],
    so_far: Callable[[Sweep, tuple[int, ...]], None],
    at_once: int = 1,
    known: dict[Value, Sweep] | None = None,
) -> Sweep:
    """Predict every combination, some values of the first axis at a time, in the `order` of their
    indices. `so_far` receives the sweep over the values that are done, in the order of the axis,
    with their indices; `cancelled` raises to stop. `known` holds parts of earlier calls with the
    same other axes, by value of the first axis, and receives the new parts."""
    name, values = next(iter(axes.items()))
    total = prod(map(len, axes.values()))
    each = total // len(values)
    known = {} if known is None else known
    parts = {i: known[value] for i, value in enumerate(values) if value in known}
    missing = [i for i in order if i not in parts]
    running().count(len(parts) * each, total, "points")
    with expecting(*sizes_of(axes)):
        for begin in range(0, len(missing), at_once):
            indices = sorted(missing[begin : begin + at_once])
            part = sweep(
                scenario,
                {**axes, name: [values[i] for i in indices]},
                counted=lambda _: cancelled(),
            )
            cancelled()
            parts |= {i: _rows(part, at, each) for at, i in enumerate(indices)}
            known |= {values[i]: parts[i] for i in indices}
            running().count(len(parts) * each, total, "points")
            done = tuple(sorted(parts))
            whole = joined([parts[i] for i in done])
            if len(done) < len(values) and len(whole.refused) < len(whole):
                so_far(whole, done)
    return joined([parts[i] for i in range(len(values))])


def from_outside(count: int, first: int | None) -> list[int]:
    """The indices of an axis: `first`, both ends, then the middles of the widest gaps."""
    ends = [0, count - 1]
    order = list(dict.fromkeys(ends if first is None else [first, *ends]))
    while len(order) < count:
        gaps = [(after - before, before) for before, after in pairwise(sorted(order))]
        widest = max(gap for gap, _ in gaps)
        order += [before + gap // 2 for gap, before in gaps if gap > 1 and gap >= widest - 1]
    return order


def joined(parts: Sequence[Sweep]) -> Sweep:
    """One sweep with the points of several, in order."""
    starts = np.cumsum([0, *map(len, parts)]).tolist()

    def shifted(texts: Iterator[Mapping[int, str]]) -> dict[int, str]:
        return {
            start + row: text
            for start, each in zip(starts, texts, strict=False)
            for row, text in each.items()
        }

    return Sweep(
        [scenario for part in parts for scenario in part.scenarios],
        [point for part in parts for point in part.points],
        {name: np.concatenate([part.columns[name] for part in parts]) for name in COLUMNS},
        shifted(part.refused for part in parts),
        shifted(part.retraced for part in parts),
    )


def _rows(part: Sweep, at: int, each: int) -> Sweep:
    """The rows of one value of the first axis."""
    some = slice(at * each, (at + 1) * each)

    def within(texts: Mapping[int, str]) -> dict[int, str]:
        return {
            row - some.start: text for row, text in texts.items() if some.start <= row < some.stop
        }

    return Sweep(
        part.scenarios[some],
        part.points[some],
        {name: column[some] for name, column in part.columns.items()},
        within(part.refused),
        within(part.retraced),
    )


def sizes_of(axes: Axes) -> tuple[int, int]:
    """The numbers of batches and of sequences."""
    return len(axes.get("batch", "1")), len(axes.get("seq", "1"))
