"""The data of a sweep: each side's figures along an axis, and the shifts of the first side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from app.answers.answer import subject_of
from app.answers.side import Question, Side
from app.answers.sweeps.axes import AxisValues, value_on
from app.answers.sweeps.axes import line as line_of
from app.answers.sweeps.sweep import swept
from app.quantities import number, plain
from app.scenes.pixel_scale import Floats
from app.scenes.sweep.measured import MeasuredPoint, points
from app.time_left import running
from simulator.analysis.along import Figures
from simulator.analysis.regimes import Shift
from simulator.analysis.sweep import Sweep
from simulator.analysis.sweep import axis as axis_of
from simulator.caches.cancelling import CancelledError as CancelledError
from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE
from simulator.prediction import REGIMES, Regime
from simulator.scenario.scenario import Scenario, Value
from simulator.simulate.step_columns import COLUMNS

NAMES = {"batch": "Batch", "seq": "Sequence length"}
"""The axes with their names."""

_UNITS = {"batch": "samples", "seq": "tokens"}
_CALLED = {**NAMES, "gpu": "GPU"}
_FIELDS = ("batch", "seq", "gpu", "mode")  # the values of a scenario without what-ifs
_PARTS = {"batch": 4, "seq": 2}  # points per doubling: another sequence may need its own trace


@dataclass(frozen=True)
class Curve:
    """The predictions of a side along an axis.

    `columns` are the columns of `step_columns`, one row per value in `values`. `here` is the
    side's current value on the axis; `measured` are its measured points."""

    side: Side
    here: float
    values: Floats
    columns: Mapping[str, Floats]
    measured: tuple[MeasuredPoint, ...] = ()

    def regime(self, row: int) -> Regime:
        """The regime of a point."""
        return REGIMES[int(self.columns["regime"][row])]

    def same(self, other: Curve) -> bool:
        """Whether this curve equals another, because the sides differ only in their value on the
        axis."""
        own_s, other_s = self.columns["period_s"], other.columns["period_s"]
        shared, mine, theirs = np.intersect1d(self.values, other.values, return_indices=True)
        return shared.size > 1 and bool(np.array_equal(own_s[mine], other_s[theirs]))

    def here_s(self) -> tuple[float, float, float]:
        """The time at the side's own value, and its 80% interval."""
        at = self.row(self.here)
        if at is None:
            return self.side.prediction.period_s, *self.side.prediction.interval_s
        period, low, high = (float(self.columns[n][at]) for n in ("period_s", "low_s", "high_s"))
        return period, low, high

    def row(self, value: float) -> int | None:
        """The point at a value."""
        rows = np.flatnonzero(self.values == value)
        return int(rows[0]) if rows.size else None


@dataclass(frozen=True)
class Curves:
    """The curves, the current side first. `refused` is the reason for missing curves; `notes` name
    sides that are left out."""

    axis: str
    line: AxisValues | None = None
    curves: tuple[Curve, ...] = ()
    shifts: tuple[Shift, ...] = ()
    refused: str = ""
    notes: tuple[str, ...] = ()
    about: bool = False
    """Whether the shifts are approximate, interpolated between the points."""

    @property
    def unfit(self) -> float | None:
        """The smallest value at which the current side does not fit in memory."""
        if not self.curves:
            return None
        first = self.curves[0]
        fits = first.columns["fits"] > 0
        at = int(np.flatnonzero(fits)[-1]) + 1 if fits.any() else 0
        return float(first.values[at]) if at < fits.size else None


def or_none(work: Question) -> Question:
    """Wrap `work` so that it returns None if it is cancelled."""

    def answer(cancelled: Callable[[], bool]) -> Any:
        try:
            return work(cancelled)
        except CancelledError:
            return None

    return answer


def axis_name(name: str) -> str:
    """The name of an axis as shown: "Sequence length", "Host speed"."""
    return _CALLED.get(name, name.replace("_", " ").capitalize())


def value_words(value: Value) -> str:
    """A value of an axis: "4,096", "0.241", "eager"."""
    if isinstance(value, int | float):
        return plain(value) if float(value).is_integer() else number(value)
    return str(value)


def within_words(name: str) -> str:
    """A name of an axis within a sentence: "sequence length", "GPU"."""
    return name if name.isupper() else name.lower()


def axis_title(name: str, unit: str = "") -> str:
    """An axis with its unit: "Batch, samples"."""
    unit = _UNITS.get(name, unit)
    return axis_name(name) + (f", {unit}" if unit else "")


def lacking(scenario: Scenario, axis: str) -> str:
    """The reason why a network of the catalogue has no such axis, or an empty string."""
    entry = CATALOGUE.get(scenario.network)
    if axis != "seq" or entry is None or entry.seq is not None:
        return ""
    return f"{scenario.network} has no {NAMES[axis].lower()} to change"


def place_of(side: Side, axis: str) -> float:
    """The value of a side on an axis. Raises InputError if it has no such axis."""
    value = value_on(side.scenario, axis)
    if value is None:
        subject = subject_of(side.scenario, side.prediction)
        value = subject.batch if axis == "batch" else subject.seq
    if value is None:
        raise InputError(f"{side.scenario.network} has no {NAMES[axis].lower()} to change")
    return float(value)


def moved(scenario: Scenario, axis: str, value: Value) -> Scenario:
    """The scenario with another value on an axis."""
    others = tuple(a for a in scenario.whatifs if a.name != axis)
    if not others and axis in _FIELDS:
        return replace(scenario, whatifs=(), **{axis: value})  # pyright: ignore
    return axis_of(scenario, axis).at(replace(scenario, whatifs=others), value)


def finer(line: AxisValues, here: float) -> AxisValues:
    """The values of an axis: doublings, points between them, and the scenario's own value."""
    values = [float(v) for v in line.values if isinstance(v, int | float)]
    parts = _PARTS.get(line.name, 1)
    between = {
        int(low + (high - low) * part / parts)
        for low, high in pairwise(values)
        for part in range(parts)
    }
    return replace(line, values=tuple(sorted({int(here), int(values[-1]), *between})))


def curves(
    sides: tuple[Side, ...], current: int, axis: str, cancelled: Callable[[], bool]
) -> Curves:
    """Sweep the current side, then the others; the points of a slow sweep of the current side are
    shown as they become available. Raises CancelledError if cancelled."""

    def step(_: str) -> None:
        if cancelled():
            raise CancelledError

    ordered = [sides[current], *(s for i, s in enumerate(sides) if i != current)]
    finished: list[Curve] = []
    shifts: tuple[Shift, ...] = ()
    notes: list[str] = []
    line: AxisValues | None = None
    for side in ordered:
        step("")
        try:
            here = place_of(side, axis)
            line = line or finer(line_of(side.scenario, axis), here)
            so_far = None if finished else _shown(axis, side, here)
            answer = swept({side.letter: side.scenario}, line, step, so_far, here)
        except InputError as error:
            if not finished:
                return Curves(axis, refused=str(error))
            notes.append(f"{side.letter} is not drawn: {error}")
            continue
        finished.append(_curve(side, here, answer.line, answer.sweeps[0], answer.tried))
        shifts = shifts or (answer.shifts if len(finished) == 1 else ())
        notes += [
            f"{side.letter}: {why}" for why in dict.fromkeys(answer.sweeps[0].refused.values())
        ]
    return Curves(axis, line, tuple(finished), shifts, "", tuple(notes))


def _shown(axis: str, side: Side, here: float) -> Callable[[Sweep, AxisValues], None]:
    """A function that shows the sweep of a side over some values of the axis."""

    def show(part: Sweep, values: AxisValues) -> None:
        running().show(Curves(axis, values, (_curve(side, here, values, part, ()),)))

    return show


def _curve(
    side: Side,
    here: float,
    line: AxisValues,
    sweep: Sweep,
    tried: tuple[tuple[float, Figures], ...],
) -> Curve:
    row_of = {
        float(v): [float(sweep.columns[name][i]) for name in COLUMNS]
        for i, v in enumerate(line.values)
        if i not in sweep.refused and isinstance(v, int | float)
    }
    row_of |= {value: list(each.row) for value, each in tried}
    values = sorted(row_of)
    table = np.array([row_of[v] for v in values])
    columns = {n: table[:, i] for i, n in enumerate(COLUMNS)}
    return Curve(side, here, np.array(values), columns, points(side, line.name, here))
