"""Sweeps of a scenario and its variants along an axis, and where the regime shifts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

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


def swept(variants: dict[str, Scenario], axis: AxisValues, step: Step = lambda text: None) -> Swept:
    """Sweep every variant. Raises InputError if one has no point with an answer."""
    total = len(axis.values) * len(variants)

    def all_of(number: int, scenario: Scenario) -> Sweep:
        before = number * len(axis.values)
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
