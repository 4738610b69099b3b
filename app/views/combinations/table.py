"""A sweep over several axes at once, as the columns that its lines go through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.commands.axes import line as line_of
from app.quantities import count_of, data, plain, scaled, seconds
from app.views.regime_map.axes import offered, place_on
from app.views.scale import Floats
from app.views.sweep.curves import CancelledError, axis_name, moved, value_words
from app.views.view import Side
from simulator.hardware import gpus
from simulator.prediction import REGIMES, Regime
from simulator.scenario import Scenario, Value
from simulator.sweep import sweep
from simulator.whatif.seen import seen
from simulator.whatif.setting import setting

_MODES = ("eager", "cuda_graph")
_SCALES: tuple[Value, ...] = (0.5, 1.0, 2.0, 4.0)
_MOST_AXES, _MOST_CARDS = 4, 6


@dataclass(frozen=True)
class Column:
    """One axis of the picture: a value a row. Choices are their places in `words`; a figure of the
    answer has none, and is written by `text`."""

    name: str
    values: Floats
    words: tuple[str, ...] = ()
    text: Callable[[float], str] = plain

    def said(self, value: float) -> str:
        """A value for people."""
        return self.words[round(value)] if self.words else self.text(value)


@dataclass(frozen=True)
class Table:
    """A row a combination that has an answer: `settings` are its values on the first columns,
    `regimes` places in REGIMES. `refused` counts those without."""

    columns: tuple[Column, ...]
    axes: tuple[str, ...]
    settings: tuple[tuple[Value, ...], ...]
    regimes: NDArray[np.int64]
    refused: int

    def __len__(self) -> int:
        return len(self.settings)

    def regime(self, row: int) -> Regime:
        """What rules a combination."""
        return REGIMES[int(self.regimes[row])]

    def scenario(self, base: Scenario, row: int) -> Scenario:
        """A combination as a scenario."""
        for name, value in zip(self.axes, self.settings[row], strict=True):
            base = moved(base, name, value)
        return base


def combined(side: Side, cancelled: Callable[[], bool]) -> Table:
    """Every combination of a side's axes. CancelledError where nobody waits any more."""

    def counted(_: int) -> None:
        if cancelled():
            raise CancelledError

    axes = axes_of(side)
    found = sweep(side.scenario, axes, counted=counted)
    rows = [row for row in range(len(found)) if row not in found.refused]
    columns: list[Column] = []
    for name, values in axes.items():
        place = {value: at for at, value in enumerate(values)}
        at = np.array([place[found.points[row][name]] for row in rows], float)
        columns.append(Column(axis_name(name), at, tuple(map(value_words, values))))
    figures = (
        ("Time", "period_s", seconds), ("Throughput", "samples_per_s", _rate),
        ("Memory", "peak_memory_bytes", data),
    )  # fmt: skip
    for name, column, text in figures:
        columns.append(Column(name, found.columns[column][rows], (), text))
    settings = tuple(tuple(found.points[row].values()) for row in rows)
    regimes = found.columns["regime"][rows].astype(np.int64)
    return Table(tuple(columns), tuple(axes), settings, regimes, len(found.refused))


def axes_of(side: Side) -> dict[str, list[Value]]:
    """The axes of a side with their values: batch and sequence by doublings, GPUs, modes, and what
    scales where there are too few."""
    names = offered(side)
    found: dict[str, list[Value]] = {}
    for name in ("batch", "seq"):
        here = place_on(side, name)
        if name in names and isinstance(here, int | float):
            found[name] = _with(list(line_of(side.scenario, name).values), int(here))
    alike = _cards(side) if "gpu" in names else []
    if len(alike) > 1:
        found["gpu"] = alike
    if side.prediction.mode in _MODES:
        found["mode"] = list(_MODES)
    for name in ("host_speed", "bandwidth"):
        if len(found) < _MOST_AXES:
            found[name] = list(_SCALES)
    return found


def _cards(side: Side) -> list[Value]:
    """The GPUs on which the network runs the same ops as on the side's, so that none is traced
    anew."""
    ask, own = setting(side.scenario).ask, side.prediction.gpu
    cards = [card for card in gpus() if card.vendor == own.vendor]
    same: list[Value] = [
        card.id for card in cards if seen(ask.network, card) == seen(ask.network, own)
    ]
    return same[:_MOST_CARDS]


def _with(values: list[Value], here: Value) -> list[Value]:
    """With where the side is, in order where they are numbers."""
    every = [*values, here] if here not in values else values
    numbers = [v for v in every if isinstance(v, int | float)]
    return [*sorted(numbers)] if len(numbers) == len(every) else every


def _rate(value: float) -> str:
    return count_of(value, "/s") if value < 1e6 else scaled(value, "/s")
