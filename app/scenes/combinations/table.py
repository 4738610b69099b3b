"""A sweep over several axes at once, as columns of a parallel-coordinates picture."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.answers.cards import display_name
from app.answers.side import Side
from app.answers.sweeps.combinations import Axes, Combined, Known, combine
from app.answers.sweeps.stored_blocks import StoredBlocks, name_of
from app.quantities import count_of, data, percent, plain, scaled, seconds
from app.scenes.combinations.axes import axes_of
from app.scenes.pixel_scale import Floats
from app.scenes.plain_points import plain_number
from app.scenes.regime_map.axes import elsewhere, unscaled
from app.scenes.sweep.curves import CancelledError, axis_name, moved, value_words
from app.time_left import running
from simulator.analysis.sweep import Points
from simulator.caches.lru import LRUCache
from simulator.hardware.gpu import gpu
from simulator.prediction import REGIMES, Regime
from simulator.scenario.scenario import Scenario, Value

_BLOCKS: LRUCache[tuple[StoredBlocks, Known]] = LRUCache(4)
"""The predicted blocks of recent questions with their files, by name."""
_PART_S = 0.25
"""Minimum time between two partial tables: drawing thousands of lines takes up to 0.1 s."""


@dataclass(frozen=True)
class CombinationColumn:
    """One axis of the picture: one value per row. Choices are indices into `words`. A figure of the
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

    @property
    def plain_head(self) -> str:
        """The name with the SI unit, if there is one: "Time (s)"."""
        unit = "" if self.words else _UNITS.get(self.text, "")
        return f"{self.name} ({unit})" if unit else self.name

    def plain_text(self, value: float) -> str:
        """A value without a unit, as a number in SI units; the text of a choice."""
        return self.words[round(value)] if self.words else plain_number(value)


@dataclass(frozen=True)
class CombinationTable:
    """One row per combination with an answer: `settings` are its values on the first columns,
    `regimes` are indices into REGIMES. `refused` counts combinations without an answer, `missing`
    those that are not predicted yet."""

    columns: tuple[CombinationColumn, ...]
    axes: tuple[str, ...]
    settings: tuple[tuple[Value, ...], ...]
    regimes: NDArray[np.int64]
    refused: int
    missing: int = 0

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
_UNITS: dict[Callable[[float], str], str] = {
    seconds: "s",
    _rate: "samples/s",
    data: "B",
    percent: "share",
}
"""The SI unit of a figure, by the function that writes it."""
USUAL_FIGURES = ("Time", "Throughput", "Memory needed")


def in_sentence(name: str) -> str:
    """The name of a column inside a sentence: "memory needed", "GPU time"."""
    return name if name[:2].isupper() else f"{name[:1].lower()}{name[1:]}"


def combined(side: Side, names: Sequence[str], cancelled: Callable[[], bool]) -> CombinationTable:
    """Predict a scenario at every combination of the axes' values. The rows are shown as they
    become available; they are also stored on disk, so that the next call continues after a
    cancelled one. Raises CancelledError if cancelled."""
    axes = axes_of(side, names)
    shown_s = -_PART_S

    def check() -> None:
        if cancelled():
            raise CancelledError

    def so_far(part: Combined) -> None:
        nonlocal shown_s
        stored.write(known, at_once=False)
        if part.rows.size and time.monotonic() - shown_s >= _PART_S:
            running().show(_table(part))
            shown_s = time.monotonic()

    stored, known = _blocks_of(side, axes)
    try:
        return _table(combine(unscaled(side.scenario, *axes), axes, check, so_far, known))
    finally:
        stored.write(known)


def _blocks_of(side: Side, axes: Axes) -> tuple[StoredBlocks, Known]:
    """The file of the blocks of a question, and the blocks so far."""
    name = name_of(elsewhere(side.scenario, *axes), side.scenario, axes)

    def read() -> tuple[StoredBlocks, Known]:
        stored = StoredBlocks(name)
        return stored, stored.read()

    return _BLOCKS.get(name, read)


def _table(answers: Combined) -> CombinationTable:
    """The table of the combinations that are predicted so far."""
    axes, rows = answers.axes, answers.rows
    columns: list[CombinationColumn] = []
    places = np.unravel_index(rows, [len(values) for values in axes.values()])
    for at, (name, values) in zip(places, axes.items(), strict=True):
        words = tuple(_axis_text(name, value) for value in values)
        columns.append(CombinationColumn(axis_name(name), at.astype(float), words))
    for name, (column, text) in FIGURES.items():
        share = text is percent
        columns.append(CombinationColumn(name, answers.columns[column], (), text, share))
    points, chosen = Points(axes), [int(row) for row in rows]
    return CombinationTable(
        tuple(columns),
        tuple(axes),
        tuple(tuple(points[row].values()) for row in chosen),
        answers.columns["regime"].astype(np.int64),
        answers.refused,
        answers.missing,
    )


def _axis_text(axis: str, value: Value) -> str:
    """The text of a value on its axis: the first words of a GPU's name, a factor with "×"."""
    if axis == "gpu" and isinstance(value, str):
        return re.sub(r" \(.*\)| \d+GB", "", gpu(value).name)
    if axis not in ("batch", "seq") and isinstance(value, int | float):
        return f"{plain(value)}×"
    return display_name(value_words(value))
