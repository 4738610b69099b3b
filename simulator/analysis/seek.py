"""Goal seek: the value at which a scenario reaches a goal, verified by a single prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import isnan

from simulator.analysis.along import AxisSearch, Figures, Holds, Margin, Watch, unwatched
from simulator.analysis.regimes import next_shift
from simulator.analysis.sweep import Predictor, axis
from simulator.errors import InputError
from simulator.formats.numbers import number
from simulator.prediction import Prediction
from simulator.scenario.predict_many import why_traced
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, predict
from simulator.scenario.traces.families import expecting

_LARGEST = 1 << 20
_BATCHES = [1 << n for n in range(_LARGEST.bit_length())]
_UNITS = (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")
_POINTS = 16  # approximate number of batches that a search predicts


@dataclass(frozen=True)
class SeekResult:
    """A result: `axis` reaches the goal at `value`, but not at `beyond`, which may be None.

    `scenario` is the scenario there and `prediction` its single prediction, which confirms the
    goal. `tried` holds the figures of the search by value. `traced` gives, for each value at which
    the network was traced, why no family of traces holds it; `retraced` is the reason for `value`,
    or empty.
    """

    goal: str
    axis: str
    value: float
    beyond: float | None
    scenario: Scenario
    prediction: Prediction
    sentence: str
    tried: Mapping[float, Figures] = field(default_factory=dict[float, Figures], compare=False)
    traced: Mapping[float, str] = field(default_factory=dict[float, str], compare=False)

    @property
    def retraced(self) -> str:
        return why_traced(resolve(self.scenario)) or ""


@dataclass(frozen=True)
class _Goal:
    """A condition on the batch, the margin by which figures meet it, and the sentence about it."""

    text: str
    holds: Holds
    margin: Margin
    says: Callable[[Prediction], str]


def largest_batch(
    scenario: Scenario, predictor: Predictor = predict, watch: Watch = unwatched
) -> SeekResult:
    """The largest batch that fits in the GPU's memory, workspaces of libraries included. `watch`,
    here and below, receives every value that is tried."""
    room = resolve(scenario).gpu.memory_bytes
    goal = _Goal(
        "the batch fits", lambda f: f.fits, lambda f: room - f["peak_memory_bytes"], _memory
    )
    return _searched(_last, scenario, goal, predictor, watch)


def batch_for_latency(
    scenario: Scenario, seconds: float, predictor: Predictor = predict, watch: Watch = unwatched
) -> SeekResult:
    """The largest batch that fits and whose step alone takes no longer than this."""
    positive("latency", seconds, "seconds")
    room = resolve(scenario).gpu.memory_bytes
    goal = _Goal(
        f"a step alone within {seconds:g} s",
        lambda f: f.fits and f["latency_s"] <= seconds,
        lambda f: seconds - f["latency_s"] if f.fits else room - f["peak_memory_bytes"],
        lambda p: _latency(p) + (f", {_memory(p)}" if p.latency_s <= seconds else ""),
    )
    return _searched(_last, scenario, goal, predictor, watch)


UNDER: dict[str, tuple[str, str, float]] = {
    "step alone": ("latency_s", "ms", 1e-3),
    "step": ("period_s", "ms", 1e-3),
    "memory": ("memory_bytes", "GiB", float(2**30)),
    "energy per step": ("joules", "J", 1.0),
}
"""Figures that grow with the batch, by name: the column, and the size of its unit in SI."""


def batch_under(
    scenario: Scenario,
    figure: str,
    most: float,
    predictor: Predictor = predict,
    watch: Watch = unwatched,
) -> SeekResult:
    """The largest batch that fits and whose figure, a name in `UNDER`, is at most `most` in its
    unit. Raises InputError for an unknown figure, or one that is unknown for this GPU."""
    if figure not in UNDER:
        raise InputError(f"no figure {figure!r}: expected {', '.join(UNDER)}; choose one")
    column, unit, scale = UNDER[figure]
    positive(figure, most, unit)
    if isnan(Figures.of(predictor(scenario))[column]):
        raise InputError(f"the {figure} is unknown for this GPU: expected another figure")
    room = resolve(scenario).gpu.memory_bytes

    def says(p: Prediction) -> str:
        return f"{figure} {number(Figures.of(p)[column] / scale, 4)} {unit}, {_memory(p)}"

    goal = _Goal(
        f"{figure} under {most:g} {unit}",
        lambda f: f.fits and f[column] <= most * scale,
        lambda f: most * scale - f[column] if f.fits else room - f["peak_memory_bytes"],
        says,
    )
    return _searched(_last, scenario, goal, predictor, watch)


def batch_for_throughput(
    scenario: Scenario,
    samples_per_s: float,
    predictor: Predictor = predict,
    watch: Watch = unwatched,
) -> SeekResult:
    """The smallest batch that reaches `samples_per_s` and fits."""
    positive("throughput", samples_per_s, "samples a second")
    goal = _Goal(
        f"{samples_per_s:g} samples/s",
        lambda f: f["samples_per_s"] >= samples_per_s,
        lambda f: f["samples_per_s"] - samples_per_s,
        _throughput,
    )
    return _searched(_first, scenario, goal, predictor, watch)


def batch_out_of_overhead(
    scenario: Scenario, predictor: Predictor = predict, watch: Watch = unwatched
) -> SeekResult:
    """The smallest batch that is not overhead-bound."""
    goal = _Goal(
        "out of the overhead regime",
        lambda f: f.regime != "overhead",
        lambda f: max(f["compute"], f["memory"]) - f["overhead"],
        lambda p: f"{p.regime}-bound",
    )
    return _searched(_first, scenario, goal, predictor, watch)


def flip(
    scenario: Scenario,
    along: str = "bandwidth",
    *,
    down: bool = False,
    predictor: Predictor = predict,
    watch: Watch = unwatched,
) -> SeekResult:
    """The factor of bandwidth, a peak, or the host's speed at which the regime flips."""
    shift = next_shift(scenario, along, down=down, predictor=predictor, watch=watch)
    if shift.first is None:
        raise InputError(f"no flip: {shift.sentence}; expected a change of regime; try {_OTHER}")
    flipped = axis(scenario, along).at(scenario, shift.first)
    prediction = predictor(flipped)
    if prediction.regime != shift.after:
        raise AssertionError("a prediction at the value does not confirm the regime change")
    goal = f"the regime flips along {along}"
    return SeekResult(
        goal,
        along,
        shift.first,
        shift.last,
        flipped,
        prediction,
        shift.sentence,
        shift.tried,
        shift.retraced,
    )


_OTHER = "another axis, or the other direction (down)"


def _rate(p: Prediction) -> float:
    return p.trace.samples / p.period_s if p.period_s else 0.0


def _memory(p: Prediction) -> str:
    need = p.peak_memory_bytes + p.workspace_bytes
    return f"{need / 2**30:.1f} of {p.gpu.memory_bytes / 2**30:.1f} GiB"


def _latency(p: Prediction) -> str:
    unit, name = next((u for u in _UNITS if p.latency_s >= u[0]), _UNITS[-1])
    return f"{p.latency_s / unit:.4g} {name} alone"


def _throughput(p: Prediction) -> str:
    return f"{number(_rate(p), 4)} samples/s"


def positive(what: str, value: float, unit: str) -> None:
    """Raise InputError unless a goal's figure is above 0."""
    if not value > 0:
        raise InputError(f"{what} is {value}: expected more than 0 {unit}")


@expecting(_POINTS)
def _searched(
    find: Callable[[AxisSearch, _Goal], SeekResult | None],
    scenario: Scenario,
    goal: _Goal,
    predictor: Predictor,
    watch: Watch,
) -> SeekResult:
    """The result, confirmed by single predictions. If they do not confirm a value that was
    predicted together with others, the batches are tried one by one."""
    for one_by_one in (False, True):
        line = AxisSearch(scenario, axis(scenario, "batch"), predictor, watch, one_by_one)
        if point := find(line, goal):
            return point
    raise AssertionError(f"{goal.text}: a single prediction does not confirm the result")


def _last(line: AxisSearch, goal: _Goal) -> SeekResult | None:
    """The largest batch that meets a goal that all smaller batches meet."""
    bad = line.first(_BATCHES, lambda f: not goal.holds(f))
    if bad == 1:
        raise InputError(
            f"batch 1 misses the goal, {goal.text}: {goal.says(line.forward(1))}; expected a goal "
            "that one sample reaches; try another GPU or precision, or recompute"
        )
    if bad is None:
        result = _bisected(line, goal, _BATCHES[-1], None)
        note = f"{result.sentence}; no larger batch was tried" if result else ""
        return result and replace(result, sentence=note)
    return _bisected(line, goal, *line.end(bad / 2, bad, goal.holds, goal.margin))


def _first(line: AxisSearch, goal: _Goal) -> SeekResult | None:
    """The smallest batch that meets a goal: double the batch until it meets the goal, then search
    below."""
    good = line.first(_BATCHES, lambda f: goal.holds(f) or not f.fits) or _LARGEST
    if not goal.holds(line.at(good)):
        best = line.forward(good)
        raise InputError(
            f"no batch reaches the goal, {goal.text}: batch {good:,.0f} has {goal.says(best)}"
            f"{'' if best.fits else ' and does not fit'}; expected a lower goal; try "
            "another GPU, precision or mode"
        )
    ends = (1, None) if good == 1 else line.end(good, good / 2, goal.holds, goal.margin)
    result = _bisected(line, goal, *ends)
    if result and not result.prediction.fits:
        raise InputError(
            f"{goal.text}: batch {result.value:,.0f} would have {goal.says(result.prediction)} but "
            f"does not fit ({_memory(result.prediction)}); expected a goal within memory; try "
            "another GPU or precision"
        )
    return result


def _bisected(line: AxisSearch, goal: _Goal, good: float, bad: float | None) -> SeekResult | None:
    """The result, if single predictions confirm that the value meets the goal and the next one
    misses it; else None."""
    p = line.forward(good)
    if not goal.holds(line.at(good)) or (bad and goal.holds(line.confirmed(bad))):
        return None
    return SeekResult(
        goal.text,
        "batch",
        int(good),
        None if bad is None else int(bad),
        line.scenario_at(good),
        p,
        f"batch {good:,.0f}: {goal.says(p)}",
        line.tried,
        line.retraced,
    )
