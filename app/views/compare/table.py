"""A comparison as a table: the step, its changes, regimes, kernels and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.answers.side import Side
from app.quantities import between, change, seconds, signed_seconds
from app.scenes.plain_points import plain_number
from app.views.compare.counts import Count
from app.views.compare.parts import part_name
from simulator.analysis.compare import Part, Waterfall

_HEADS = ["Kind", "Name", "A", "B", "Change", "80% interval", "Alone"]
_UNITS = ("s", "B", "FLOP", "count")
"""The units of the figures of both sides; each has two columns in CSV."""
_PLAIN = ("Change (s)", "Interval from (s)", "Interval to (s)", "Alone (s)")


@dataclass(frozen=True)
class Compared:
    """Two sides, the changes between them once they are predicted, and the figures of both."""

    a: Side
    b: Side
    fall: Waterfall | None
    parts: tuple[Part, ...]
    counts: tuple[Count, ...]

    def rows(self) -> list[list[str]]:
        """The table with units and prefixes, column heads first."""
        a, b, fall = self.a.prediction, self.b.prediction, self.fall
        ends = between(*a.interval_s, a.period_s), between(*b.interval_s, b.period_s)
        times = seconds(a.period_s), seconds(b.period_s), change(a.period_s, b.period_s)
        rows = [_HEADS, ["step", "", *times, "; ".join(ends)]]
        for step in fall.steps if fall else ():
            rows.append(
                [
                    "change",
                    step.label,
                    seconds(step.period_s - step.change_s),
                    seconds(step.period_s),
                    signed_seconds(step.change_s),
                    between(*step.interval_s, step.period_s),
                    "" if step.alone_s is None else signed_seconds(step.alone_s),
                ]
            )
        for part in self.parts:
            added = signed_seconds(part.seconds[1] - part.seconds[0])
            rows.append([_kind(part), part_name(part), part.before, part.after, added])
        for each in fall.moved if fall else ():
            both = map(seconds, each.seconds)
            rows.append(["kernels", each.op, *both, signed_seconds(each.change_s)])
        for count in self.counts:
            both = count.value_text(count.before), count.value_text(count.after)
            rows.append(["count", count.name, *both, change(count.before, count.after)])
        return [row + [""] * (len(_HEADS) - len(row)) for row in rows]

    def plain_rows(self) -> list[list[str]]:
        """The table with numbers in SI units, the unit in the column head. A change has the time of
        the step before and after it."""
        letters, fall = (self.a.letter, self.b.letter), self.fall
        heads = [f"{letter} ({unit})" for unit in _UNITS for letter in letters]
        regimes = [f"Regime in {letter}" for letter in letters]
        rows = [["Kind", "Name", *heads, *_PLAIN, *regimes]]
        periods = [side.prediction.period_s for side in (self.a, self.b)]
        rows.append(_plain("step", "", periods, "s", periods[1] - periods[0]))
        for letter, side in zip(letters, (self.a, self.b), strict=True):
            ends = side.prediction.interval_s
            rows.append(_plain("80% interval", letter, (None, None), "s", None, ends))
        for step in fall.steps if fall else ():
            both = step.period_s - step.change_s, step.period_s
            rest = step.change_s, step.interval_s, step.alone_s
            rows.append(_plain("change", step.label, both, "s", *rest))
        for part in self.parts:
            added, regimes = part.seconds[1] - part.seconds[0], (part.before, part.after)
            row = _plain(_kind(part), part_name(part), part.seconds, "s", added, regimes=regimes)
            rows.append(row)
        for each in fall.moved if fall else ():
            rows.append(_plain("kernels", each.op, each.seconds, "s", each.change_s))
        for count in self.counts:
            both = count.before, count.after
            added = count.after - count.before if count.unit == "s" else None
            rows.append(_plain("count", count.name, both, count.unit, added))
        return rows


def _kind(part: Part) -> str:
    return "regime changed" if part.flipped else "regime"


def _plain(
    kind: str,
    name: str,
    both: Sequence[float | None],
    unit: str,
    change_s: float | None = None,
    interval_s: tuple[float | None, float | None] = (None, None),
    alone_s: float | None = None,
    regimes: tuple[str, str] = ("", ""),
) -> list[str]:
    """A row of `plain_rows`: the figures of both sides in the columns of their unit."""
    figures = [value for each in _UNITS for value in (both if each == unit else (None, None))]
    numbers = (*figures, change_s, *interval_s, alone_s)
    return [kind, name, *("" if v is None else plain_number(v) for v in numbers), *regimes]
