"""A sweep over several axes at once, as columns of a parallel-coordinates picture."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from app.answers.side import Side
from app.answers.sweeps.in_parts import in_parts, is_slow
from app.quantities import count_of, data, percent, plain, scaled, seconds
from app.scenes.combinations.axes import axes_of
from app.scenes.pixel_scale import Floats
from app.scenes.sweep.curves import CancelledError, axis_name, moved, value_words
from app.time_left import running
from simulator.analysis.sweep import Sweep, sweep
from simulator.hardware.gpu import gpu
from simulator.prediction import REGIMES, Regime
from simulator.scenario.scenario import Scenario, Value


@dataclass(frozen=True)
class CombinationColumn:
    """One axis of the picture: one value per row. Choices are indices of `words`. A figure of the
    answer has no `words` and is written by `text`; its scale is 0 to 1 for a `share`, else
    logarithmic."""

    name: str
    values: Floats
    words: tuple[str, ...] = ()
    text: Callable[[float], str] = plain
    share: bool = False

    def value_text(self, value: float) -> str:
        """The text of a value."""
        return self.words[round(value)] if self.words else self.text(value)


@dataclass(frozen=True)
class CombinationTable:
    """One row per combination with an answer: `settings` are its values on the first columns,
    `regimes` indices of REGIMES. `refused` counts combinations without an answer."""

    columns: tuple[CombinationColumn, ...]
    axes: tuple[str, ...]
    settings: tuple[tuple[Value, ...], ...]
    regimes: NDArray[np.int64]
    refused: int

    def __len__(self) -> int:
        return len(self.settings)

    def regime(self, row: int) -> Regime:
        """The regime of a combination."""
        return REGIMES[int(self.regimes[row])]

    def scenario(self, base: Scenario, row: int) -> Scenario:
        """A combination as a scenario."""
        for name, value in zip(self.axes, self.settings[row], strict=True):
            base = moved(base, name, value)
        return base

    def arranged(self, names: Sequence[str]) -> CombinationTable:
        """Select these columns, in this order."""
        by_name = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(by_name[name] for name in names if name in by_name))


def _rate(value: float) -> str:
    return count_of(value, "/s") if value < 1e6 else scaled(value, "/s")


FIGURES: dict[str, tuple[str, Callable[[float], str]]] = {
    "Time": ("period_s", seconds), "Throughput": ("samples_per_s", _rate),
    "Memory needed": ("memory_bytes", data), "Step alone": ("latency_s", seconds),
    "GPU time": ("gpu_busy_s", seconds), "Host time": ("host_s", seconds),
    "Compute share": ("compute", percent), "Memory share": ("memory", percent),
    "Overhead share": ("overhead", percent),
}  # fmt: skip
"""The predicted figures of a combination, by their column in a sweep; the last three are shares."""
USUAL_FIGURES = ("Time", "Throughput", "Memory needed")


def in_sentence(name: str) -> str:
    """The name of a column inside a sentence: "memory needed", "GPU time"."""
    return name if name[:2].isupper() else f"{name[:1].lower()}{name[1:]}"


def combined(side: Side, names: Sequence[str], cancelled: Callable[[], bool]) -> CombinationTable:
    """Predict every combination of these axes of a side; the rows of slow ones are shown as they
    become available. Raises CancelledError if cancelled."""
    axes = axes_of(side, names)
    total = prod(map(len, axes.values()))

    def counted(done: int) -> None:
        if cancelled():
            raise CancelledError
        if done:
            running().count(done, total, "points")

    def so_far(part: Sweep, _: tuple[int, ...]) -> None:
        running().show(_table(axes, part))

    if is_slow(side.scenario, axes):
        order = range(len(next(iter(axes.values()))))
        return _table(axes, in_parts(side.scenario, axes, order, lambda: counted(0), so_far))
    return _table(axes, sweep(side.scenario, axes, counted=counted))


def _table(axes: Mapping[str, Sequence[Value]], swept: Sweep) -> CombinationTable:
    """The table of a sweep over axes."""
    rows = [row for row in range(len(swept)) if row not in swept.refused]
    columns: list[CombinationColumn] = []
    for name, values in axes.items():
        place = {value: at for at, value in enumerate(values)}
        at = np.array([place[swept.points[row][name]] for row in rows], float)
        columns.append(
            CombinationColumn(axis_name(name), at, tuple(_axis_text(name, v) for v in values))
        )
    for name, (column, text) in FIGURES.items():
        share = text is percent
        columns.append(CombinationColumn(name, swept.columns[column][rows], (), text, share))
    settings = tuple(tuple(swept.points[row].values()) for row in rows)
    regimes = swept.columns["regime"][rows].astype(np.int64)
    return CombinationTable(tuple(columns), tuple(axes), settings, regimes, len(swept.refused))


def _axis_text(axis: str, value: Value) -> str:
    """The text of a value on its axis: the first words of a GPU's name, a factor with "×"."""
    if axis == "gpu" and isinstance(value, str):
        return re.sub(r" \(.*\)| \d+GB", "", gpu(value).name)
    if axis not in ("batch", "seq") and isinstance(value, int | float):
        return f"{plain(value)}×"
    return value_words(value).replace("_", " ")
