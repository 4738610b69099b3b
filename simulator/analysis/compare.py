"""Compare scenarios: the effect of each change, alone and with the others, and the changed
kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.analysis.field_labels import field_label
from simulator.analysis.sweep import Predictor
from simulator.errors import InputError
from simulator.modes import compiles
from simulator.prediction import REGIMES, Prediction, Regime, Shares
from simulator.scenario.predict_many import why_traced
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import to_text

Floats = NDArray[np.float64]
MOST = 4
_FIELDS = (
    "network", "sizes", "batch", "seq", "dtype", "training", "optimizer", "data_sizes", "gpu",
    "host", "host_speed", "mode",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One change from A to B.

    period_s    the period after it, with its 80% interval
    change_s    the increase of the period if it is applied after the changes before it
    alone_s     the increase of A's period if it is applied alone; None if that is impossible.
                Changes interact if this differs from change_s.
    sample_change_s     the increase of the seconds per sample, after the changes before it
    switches_compiler   whether torch.compile is used either before it or after it, but not both
    """

    label: str
    period_s: float
    change_s: float
    alone_s: float | None
    interval_s: tuple[float, float]
    sample_change_s: float
    switches_compiler: bool = False


@dataclass(frozen=True)
class Moved:
    """All kernels of one op and family: their count, seconds and regime in A and in B; the regime
    is None without kernels."""

    op: str
    family: str
    count: tuple[int, int]
    seconds: tuple[float, float]
    regimes: tuple[Regime | None, Regime | None]

    @property
    def change_s(self) -> float:
        return self.seconds[1] - self.seconds[0]


@dataclass(frozen=True)
class Part:
    """A family of kernels, a module, or the "step", in both A and B: its regime and its seconds,
    including the idle time before its kernels (for the step, its period)."""

    part: str
    before: Regime
    after: Regime
    seconds: tuple[float, float]

    @property
    def flipped(self) -> bool:
        """Whether the regime changes."""
        return self.before != self.after


@dataclass(frozen=True)
class Waterfall:
    """The changes from A to B, which add up to the difference of the periods."""

    a: Prediction
    b: Prediction
    steps: tuple[Step, ...]
    moved: tuple[Moved, ...]
    parts: tuple[Part, ...]

    @property
    def flipped(self) -> tuple[Part, ...]:
        """The parts whose regime changes."""
        return tuple(part for part in self.parts if part.flipped)

    @property
    def total_s(self) -> float:
        return self.b.period_s - self.a.period_s


@dataclass(frozen=True)
class Comparison:
    """Two to four scenarios; `waterfalls` lead from the first to each of the others. `retraced`
    holds the reason why each was traced, or an empty string."""

    scenarios: tuple[Scenario, ...]
    predictions: tuple[Prediction, ...]
    waterfalls: tuple[Waterfall, ...]
    retraced: tuple[str, ...] = ()


def compare(scenarios: Sequence[Scenario], predictor: Predictor = predict) -> Comparison:
    """Compare scenarios with the first. Raises InputError for fewer than two or more than four."""
    if not 2 <= len(scenarios) <= MOST:
        raise InputError(f"{len(scenarios)} scenarios: expected 2 to {MOST} to compare")
    predictions = tuple(predictor(s) for s in scenarios)
    first = scenarios[0]
    falls = tuple(
        waterfall(first, other, predictor, (predictions[0], p))
        for other, p in zip(scenarios[1:], predictions[1:], strict=True)
    )
    retraced = tuple(why_traced(resolve(s)) or "" for s in scenarios)
    return Comparison(tuple(scenarios), predictions, falls, retraced)


def comparison_predictions(scenarios: Sequence[Scenario]) -> int:
    """The number of predictions that `compare` makes: one for each scenario and, for each change
    from the first scenario, one with the change alone and (except for the last change) one with the
    changes before it too."""
    changes = [len(_path(scenarios[0], other)) for other in scenarios[1:]]
    return len(scenarios) + sum(2 * count - 1 for count in changes if count)


def waterfall(
    a: Scenario,
    b: Scenario,
    predictor: Predictor = predict,
    known: tuple[Prediction, Prediction] | None = None,
) -> Waterfall:
    """The waterfall from A to B, change by change: undo A's own what-ifs, change fields, apply B's
    what-ifs."""
    first, last = known or (predictor(a), predictor(b))
    before, scenario = first, a
    steps: list[Step] = []
    path = _path(a, b)
    for number, change in enumerate(path):
        then = last if number == len(path) - 1 else predictor(change.together)
        by_itself = _alone(change.alone, first, predictor)
        label = change.label or field_label(change.field, scenario, change.together)
        steps.append(
            Step(
                label,
                then.period_s,
                then.period_s - before.period_s,
                by_itself,
                then.interval_s,
                _sample_s(then) - _sample_s(before),
                compiles(then.mode) != compiles(before.mode),
            )
        )
        before, scenario = then, change.together
    return Waterfall(first, last, tuple(steps), moved(first, last), parts(first, last))


def _sample_s(p: Prediction) -> float:
    return p.period_s / max(p.trace.samples, 1)


class _Change(NamedTuple):
    """A change with the scenario after it, and A with this change alone; the change of a `field`
    has no label yet."""

    label: str
    field: str
    together: Scenario
    alone: Scenario


def _path(a: Scenario, b: Scenario) -> list[_Change]:
    """The changes from A to B, in order."""
    shared = 0
    for ours, theirs in zip(a.whatifs, b.whatifs, strict=False):
        if ours != theirs:
            break
        shared += 1
    changes: list[_Change] = []
    current = a
    for number in range(len(a.whatifs) - 1, shared - 1, -1):
        current = replace(current, whatifs=a.whatifs[:number])
        others = a.whatifs[:number] + a.whatifs[number + 1 :]
        label = f"without {to_text(a.whatifs[number])}"
        changes.append(_Change(label, "", current, replace(a, whatifs=others)))
    for name in _FIELDS:
        old, new = getattr(a, name), getattr(b, name)
        if old != new:
            current = replace(current, **{name: new})
            changes.append(_Change("", name, current, replace(a, **{name: new})))
    for applied in b.whatifs[shared:]:
        current = replace(current, whatifs=(*current.whatifs, applied))
        alone = replace(a, whatifs=(*a.whatifs, applied))
        changes.append(_Change(to_text(applied), "", current, alone))
    return changes


def _alone(scenario: Scenario, first: Prediction, predictor: Predictor) -> float | None:
    try:
        return predictor(scenario).period_s - first.period_s
    except InputError:  # such as a what-if that needs another one
        return None


def moved(a: Prediction, b: Prediction) -> tuple[Moved, ...]:
    """The kernels whose time changed, the largest change first."""
    before, after = _by_op(a), _by_op(b)
    none = 0, np.zeros(3)
    rows: list[Moved] = []
    for key in before.keys() | after.keys():
        (n0, s0), (n1, s1) = before.get(key, none), after.get(key, none)
        seconds = float(s0.sum()), float(s1.sum())
        rows.append(Moved(*key, (n0, n1), seconds, (_regime(n0, s0), _regime(n1, s1))))
    changed = [m for m in rows if m.count[0] != m.count[1] or m.change_s != 0]
    return tuple(sorted(changed, key=lambda m: (-abs(m.change_s), m.op, m.family)))


def _regime(count: int, seconds: Floats) -> Regime | None:
    return REGIMES[int(np.argmax(seconds))] if count else None


def _by_op(p: Prediction) -> dict[tuple[str, str], tuple[int, Floats]]:
    """Count and seconds by regime of the kernels of an op and family."""
    sums: dict[tuple[str, str], tuple[int, Floats]] = {}
    ops: list[int] = p.columns.op_of.tolist()
    works: list[int] = p.columns.work_of.tolist()
    for op, work, seconds in zip(ops, works, _seconds(p), strict=True):
        key = p.trace.ops[op].name.partition(".")[2], p.works[work].family
        count, total = sums.get(key, (0, np.zeros(3)))
        sums[key] = count + 1, total + seconds
    return sums


def _seconds(p: Prediction, idle: bool = False) -> Floats:
    """Seconds of each kernel by regime [kernels, REGIMES]. Overhead is the fixed part of a kernel
    and, with `idle`, the idle time before it."""
    c = p.columns
    bound = np.maximum(c.compute_s, c.memory_s)
    return np.stack(
        [
            np.where(c.compute_s >= c.memory_s, bound, 0),
            np.where(c.compute_s < c.memory_s, bound, 0),
            c.fixed_s + (p.schedule.idle_s if idle else 0),
        ],
        axis=1,
    )


def parts(a: Prediction, b: Prediction) -> tuple[Part, ...]:
    """The step, its families and its top-level modules."""
    before, after = _parts(a), _parts(b)
    return tuple(
        Part(name, regime, after[name][0], (seconds, after[name][1]))
        for name, (regime, seconds) in before.items()
        if name in after
    )


def _parts(p: Prediction) -> dict[str, tuple[Regime, float]]:
    """The regime and the seconds of each part. The regime is the largest of compute, memory and
    overhead, which includes the idle time before kernels."""
    c, each = p.columns, _seconds(p, True)
    sums: dict[str, Floats] = {}
    ops: list[int] = c.op_of.tolist()
    works: list[int] = c.work_of.tolist()
    for k, (op, work) in enumerate(zip(ops, works, strict=True)):
        module = p.trace.ops[op].module.partition(".")[0]
        for name in (f"family {p.works[work].family}", f"module {module}" if module else ""):
            if name:
                sums[name] = sums.get(name, np.zeros(3)) + each[k]
    parts: dict[str, tuple[Regime, float]] = {"step": (largest(p.shares), p.period_s)}
    for name, total in sums.items():
        parts[name] = REGIMES[int(np.argmax(total))], float(total.sum())
    return parts


def largest(shares: Shares) -> Regime:
    """The regime with the largest share."""
    return max(REGIMES, key=lambda r: shares[r])
