"""The contents of a sweep's picture, for sides of a window and for variants of a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.answers.sweeps.sweep import Swept
from app.drawing.colours import SIDES, Role
from app.scenes.pixel_scale import Floats
from app.scenes.sweep.curves import Curves, axis_title
from app.scenes.sweep.measured import MeasuredPoint
from simulator.analysis.regimes import Shift
from simulator.simulate.step_columns import COLUMNS


@dataclass(frozen=True)
class DrawnCurve:
    """A curve with its name and colour: `columns` at `values`. `here` is the value to mark, with
    its time and interval; `repeats` is True if the first curve covers this curve."""

    name: str
    colour: Role
    values: Floats
    columns: Mapping[str, Floats]
    here: tuple[float, tuple[float, float, float]] | None = None
    measured: tuple[MeasuredPoint, ...] = ()
    repeats: bool = False


@dataclass(frozen=True)
class SweepScene:
    """Curves over an axis of numbers, the shares and shifts of the first curve, and the smallest
    value at which it does not fit in memory. `about` is True if the shifts are approximate."""

    title: str
    curves: tuple[DrawnCurve, ...]
    shifts: tuple[Shift, ...]
    unfit: float | None = None
    about: bool = False


def scene_of_curves(sweep: Curves) -> SweepScene | None:
    """The scene of sides, the current one first; None if there are no curves."""
    if not sweep.curves or sweep.line is None:
        return None
    first = sweep.curves[0]
    drawn_curves = tuple(
        DrawnCurve(
            f"{each.side.letter}  {each.side.name}",
            SIDES[max(0, "ABCD".find(each.side.letter))] if index else "ink",
            each.values,
            each.columns,
            (each.here, each.here_s()),
            each.measured,
            bool(index) and each.same(first),
        )
        for index, each in enumerate(sweep.curves)
    )
    title = axis_title(sweep.line.name, sweep.line.unit)
    return SweepScene(title, drawn_curves, sweep.shifts, sweep.unfit, sweep.about)


def scene_of_swept(swept: Swept) -> SweepScene:
    """The scene of variants over an axis of numbers; the first variant includes the points that the
    search for its shifts predicted."""
    drawn_curves: list[DrawnCurve] = []
    for index, (name, sweep) in enumerate(zip(swept.names, swept.sweeps, strict=True)):
        row_of = {
            float(value): [float(sweep.columns[column][i]) for column in COLUMNS]
            for i, value in enumerate(swept.line.values)
            if i not in sweep.refused and isinstance(value, int | float)
        }
        if index == 0:
            row_of |= {value: list(each.row) for value, each in swept.tried}
        values = sorted(row_of)
        table = np.array([row_of[value] for value in values])
        columns = {column: table[:, i] for i, column in enumerate(COLUMNS)}
        name = name if len(swept.names) > 1 else ""  # a single curve needs no name
        drawn_curves.append(
            DrawnCurve(name, SIDES[index] if index else "ink", np.array(values), columns)
        )
    fits = drawn_curves[0].columns["fits"] > 0
    at = int(np.flatnonzero(fits)[-1]) + 1 if fits.any() else 0
    unfit = float(drawn_curves[0].values[at]) if at < fits.size else None
    return SweepScene(swept.line.label, tuple(drawn_curves), swept.shifts, unfit)
