"""Scenarios side by side: what each change does, alone and together, and what moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simulator.errors import InputError
from simulator.prediction import REGIMES, Prediction, Regime, Shares
from simulator.scenario import Scenario, predict
from simulator.sweep import Predict
from simulator.whatif import spelled
from simulator.whatif.answers import why_traced
from simulator.whatif.setting import setting

MOST = 4
_FIELDS = (
    "network", "sizes", "batch", "seq", "dtype", "training", "optimizer", "data_sizes", "gpu",
    "host", "host_speed", "mode",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One change on the way from A to B. `change_s` is what it adds to the period after the
    changes before it, `alone_s` what it would add to A's by itself (None where it has no meaning
    without them). Where they differ, changes interact."""

    label: str
    period_s: float
    change_s: float
    alone_s: float | None


@dataclass(frozen=True)
class Moved:
    """All kernels of one op and family: their count and seconds in A and in B."""

    op: str
    family: str
    count: tuple[int, int]
    seconds: tuple[float, float]

    @property
    def change_s(self) -> float:
        return self.seconds[1] - self.seconds[0]


@dataclass(frozen=True)
class Flipped:
    """A part (a family of kernels, a module, or the "step") whose regime is another in B."""

    part: str
    before: Regime
    after: Regime


@dataclass(frozen=True)
class Waterfall:
    """From A to B: the steps' changes add up to the difference of the periods."""

    a: Prediction
    b: Prediction
    steps: tuple[Step, ...]
    moved: tuple[Moved, ...]
    flipped: tuple[Flipped, ...]

    @property
    def total_s(self) -> float:
        return self.b.period_s - self.a.period_s


@dataclass(frozen=True)
class Comparison:
    """Two to four scenarios; `waterfalls` lead from the first to each of the others. `retraced`
    says why each took a trace of its own, or "" where a family of traces answered."""

    scenarios: tuple[Scenario, ...]
    predictions: tuple[Prediction, ...]
    waterfalls: tuple[Waterfall, ...]
    retraced: tuple[str, ...] = ()


def compare(scenarios: Sequence[Scenario], answer: Predict = predict) -> Comparison:
    """InputError for fewer than two scenarios, or more than four."""
    if not 2 <= len(scenarios) <= MOST:
        raise InputError(f"{len(scenarios)} scenarios: expected 2 to {MOST} to compare")
    found = tuple(answer(s) for s in scenarios)
    first = scenarios[0]
    falls = tuple(
        waterfall(first, other, answer, (found[0], p))
        for other, p in zip(scenarios[1:], found[1:], strict=True)
    )
    retraced = tuple(why_traced(setting(s)) or "" for s in scenarios)
    return Comparison(tuple(scenarios), found, falls, retraced)


def waterfall(
    a: Scenario, b: Scenario, answer: Predict = predict,
    known: tuple[Prediction, Prediction] | None = None,
) -> Waterfall:  # fmt: skip
    """What leads from A to B, change by change in order: what-ifs of A's own are undone, fields
    changed, and B's what-ifs applied."""
    first, last = known or (answer(a), answer(b))
    period = first.period_s
    steps: list[Step] = []
    path = _path(a, b)
    for number, (label, together, alone) in enumerate(path):
        reached = last.period_s if number == len(path) - 1 else answer(together).period_s
        steps.append(Step(label, reached, reached - period, _alone(alone, first, answer)))
        period = reached
    return Waterfall(first, last, tuple(steps), moved(first, last), flipped(first, last))


def _path(a: Scenario, b: Scenario) -> list[tuple[str, Scenario, Scenario]]:
    """Each change: its label, the scenario with those before it, and A with it alone."""
    shared = 0
    for one, other in zip(a.whatifs, b.whatifs, strict=False):
        if one != other:
            break
        shared += 1
    found: list[tuple[str, Scenario, Scenario]] = []
    now = a
    for number in range(len(a.whatifs) - 1, shared - 1, -1):
        now = replace(now, whatifs=a.whatifs[:number])
        others = a.whatifs[:number] + a.whatifs[number + 1 :]
        label = f"without {spelled(a.whatifs[number])}"
        found.append((label, now, replace(a, whatifs=others)))
    for name in _FIELDS:
        was, new = getattr(a, name), getattr(b, name)
        if was != new:
            now = replace(now, **{name: new})
            found.append((f"{name} {_short(was)} → {_short(new)}", now, replace(a, **{name: new})))
    for applied in b.whatifs[shared:]:
        now = replace(now, whatifs=(*now.whatifs, applied))
        found.append((spelled(applied), now, replace(a, whatifs=(*a.whatifs, applied))))
    return found


def _short(value: object) -> str:
    text = "default" if value is None else str(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _alone(scenario: Scenario, first: Prediction, answer: Predict) -> float | None:
    try:
        return answer(scenario).period_s - first.period_s
    except InputError:  # such as a what-if that another one makes possible
        return None


def moved(a: Prediction, b: Prediction) -> tuple[Moved, ...]:
    """The kernels whose time changed, the largest change first."""
    before, after = _by_op(a), _by_op(b)
    rows: list[Moved] = []
    for key in before.keys() | after.keys():
        (n0, s0), (n1, s1) = before.get(key, (0, 0.0)), after.get(key, (0, 0.0))
        rows.append(Moved(*key, (n0, n1), (s0, s1)))
    changed = [m for m in rows if m.count[0] != m.count[1] or m.change_s != 0]
    return tuple(sorted(changed, key=lambda m: (-abs(m.change_s), m.op, m.family)))


def _by_op(p: Prediction) -> dict[tuple[str, str], tuple[int, float]]:
    found: dict[tuple[str, str], tuple[int, float]] = {}
    duration = p.columns.duration_s.tolist()
    pairs = zip(p.columns.op_of.tolist(), p.columns.work_of.tolist(), duration, strict=True)
    for op, work, seconds in pairs:
        key = p.trace.ops[op].name.partition(".")[2], p.works[work].family
        count, total = found.get(key, (0, 0.0))
        found[key] = count + 1, total + seconds
    return found


def flipped(a: Prediction, b: Prediction) -> tuple[Flipped, ...]:
    """The step, families and modules at the top whose regime changed."""
    before, after = _regimes(a), _regimes(b)
    return tuple(
        Flipped(part, regime, after[part])
        for part, regime in before.items()
        if part in after and after[part] != regime
    )


def _regimes(p: Prediction) -> dict[str, Regime]:
    """The largest of compute, memory and the rest (fixed parts and idle time before) by part."""
    c = p.columns
    bound = np.maximum(c.compute_s, c.memory_s)
    parts = np.stack([
        np.where(c.compute_s >= c.memory_s, bound, 0), np.where(c.compute_s < c.memory_s, bound, 0),
        c.fixed_s + p.schedule.idle_s,
    ], axis=1)  # fmt: skip
    sums: dict[str, np.ndarray] = {}
    for k, (op, work) in enumerate(zip(c.op_of.tolist(), c.work_of.tolist(), strict=True)):
        module = p.trace.ops[op].module.partition(".")[0]
        for name in (f"family {p.works[work].family}", f"module {module}" if module else ""):
            if name:
                sums[name] = sums.get(name, 0.0) + parts[k]
    found: dict[str, Regime] = {"step": largest(p.shares)}
    found |= {name: REGIMES[int(np.argmax(total))] for name, total in sums.items()}
    return found


def largest(shares: Shares) -> Regime:
    """The regime of some shares."""
    return max(REGIMES, key=lambda r: shares[r])
