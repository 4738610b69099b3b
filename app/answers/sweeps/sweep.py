"""Sweeps of a scenario and its variants along an axis, and where the regime shifts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from app.answers.sweeps.in_parts import from_outside, in_parts, is_slow
from app.quantities import plain
from simulator.analysis.regimes import next_shift
from simulator.analysis.sweep import sweep as run
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.answers.sweeps.axes import AxisValues
    from app.progress import Step
    from simulator.analysis.along import Figures, Watch
    from simulator.analysis.regimes import Shift
    from simulator.analysis.sweep import Sweep
    from simulator.scenario.scenario import Scenario


_NAMED = 6  # the largest number of values to list
_AT_ONCE = 4  # the number of points of a slow sweep that are predicted between updates

_WHERE = re.compile(r"^batch \d+(, seq \d+)?(:| is) ")


@dataclass(frozen=True)
class Swept:
    """Sweeps of a scenario and its variants. `shifts` are the regime shifts of the first sweep;
    `tried` are the figures predicted by the search for them."""

    line: AxisValues
    names: tuple[str, ...]
    sweeps: tuple[Sweep, ...]
    shifts: tuple[Shift, ...]
    tried: tuple[tuple[float, Figures], ...] = ()


def swept(
    variants: dict[str, Scenario],
    axis: AxisValues,
    step: Step = lambda text: None,
    so_far: Callable[[Sweep, AxisValues], None] | None = None,
    here: float | None = None,
) -> Swept:
    """Sweep every variant. With `so_far`, the points of a slow sweep are predicted a few at a time,
    beginning with the value `here`; `so_far` receives the sweep over the points predicted so far,
    with their values. Raises InputError if a variant has no point with an answer."""
    total = len(axis.values) * len(variants)

    def all_of(number: int, scenario: Scenario) -> Sweep:
        before, axes, show = number * len(axis.values), {axis.name: axis.values}, so_far
        if show is not None and is_slow(scenario, axes):
            place = axis.values.index(here) if here in axis.values else None
            return in_parts(
                scenario,
                axes,
                from_outside(len(axis.values), place),
                lambda: step(""),
                lambda part, at: show(part, _only(axis, at)),
                _AT_ONCE,
            )
        return run(
            scenario,
            {axis.name: axis.values},
            counted=lambda done: step(f"predicting {before + done:,} of {total:,} points"),
        )

    sweeps = tuple(all_of(number, s) for number, s in enumerate(variants.values()))
    for each in sweeps:
        if len(each.refused) == len(each):
            raise InputError(f"no point of {axis.name} has an answer: {each.refused[0]}")
    first = next(iter(variants.values()))
    changes = shifts(first, axis, sweeps[0], lambda tried: step("searching for regime shifts"))
    tried = {value: figures for shift in changes for value, figures in shift.tried.items()}
    return Swept(axis, tuple(variants), sweeps, changes, tuple(sorted(tried.items())))


def _only(axis: AxisValues, at: tuple[int, ...]) -> AxisValues:
    """The values of an axis at some indices."""
    return replace(axis, values=tuple(axis.values[i] for i in at))


def shifts(scenario: Scenario, axis: AxisValues, sweep: Sweep, watch: Watch) -> tuple[Shift, ...]:
    """Find where the regime changes between neighbouring points; `watch` receives each tried
    point."""
    if not axis.numeric:
        return ()
    places = [i for i in range(len(sweep)) if i not in sweep.refused]
    rows: list[Shift] = []
    for left, right in pairwise(places):
        if sweep.regime(left) != sweep.regime(right):
            ends = [
                v for v in (axis.values[left], axis.values[right]) if isinstance(v, int | float)
            ]
            shift = next_shift(scenario, axis.name, start=ends[0], limit=ends[1], watch=watch)
            if shift.after is not None:
                rows.append(shift)
    return tuple(rows)


def retraced(sweep: Sweep) -> str:
    """The number of points that were traced separately, with the reason, or an empty string."""
    if not sweep.retraced:
        return ""
    why = "; ".join(list(dict.fromkeys(sweep.retraced.values()))[:2])
    return f"{len(sweep.retraced)} of {len(sweep)} points traced one by one: {why}"


def retraced_at(axis: str, why: Mapping[float, str]) -> str:
    """The values at which a search had to trace: "retraced at batch 1 and 24: …", or an empty
    string."""
    if not why:
        return ""

    values = [plain(value) for value in sorted(why)]
    if len(values) > _NAMED:
        values = [*values[: _NAMED - 1], f"{len(values) - _NAMED + 1} more"]
    named = f"{', '.join(values[:-1])} and {values[-1]}" if len(values) > 1 else values[0]
    reasons = dict.fromkeys(_WHERE.sub("", reason) for reason in why.values())
    return f"retraced at {axis} {named}: {'; '.join(list(reasons)[:2])}"
