"""Goal seek: the value at which a scenario does what is wanted, verified by a forward run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simulator.errors import InputError
from simulator.fusion import LEVELS
from simulator.prediction import Prediction
from simulator.regimes import next_shift
from simulator.scenario import Scenario, predict
from simulator.sweep import Predict, axis
from simulator.whatif import apply
from simulator.whatif.lines import expecting

_LARGEST = 1 << 20
_POINTS = 16  # batches that a search asks at, about


@dataclass(frozen=True)
class Sought:
    """An answer: `axis` at `value` reaches the goal, `beyond` (None: there is none) does not.

    `scenario` is the scenario there and `prediction` its forward run, in which the goal was seen
    to hold. `retraced` says why its trace was made anew, where no family of traces answers; else
    "".
    """

    goal: str
    axis: str
    value: float
    beyond: float | None
    scenario: Scenario
    prediction: Prediction
    sentence: str

    @property
    def retraced(self) -> str:
        from simulator.whatif.setting import setting
        from simulator.whatif.tracing_ask import reason_to_trace

        found = setting(self.scenario)
        return reason_to_trace(found.ask, found.gpu) or ""


def largest_batch(scenario: Scenario, answer: Predict = predict) -> Sought:
    """The largest batch that fits in the GPU's memory, workspaces of libraries included."""
    return _last(scenario, "the batch fits", lambda p: p.fits, answer, _memory)


def batch_for_latency(scenario: Scenario, seconds: float, answer: Predict = predict) -> Sought:
    """The largest batch whose step alone takes no longer than this."""
    _positive("latency", seconds, "seconds")
    goal = f"a step alone within {seconds:g} s"
    return _last(scenario, goal, lambda p: p.latency_s <= seconds, answer, _latency)


def batch_for_throughput(
    scenario: Scenario, samples_per_s: float, answer: Predict = predict
) -> Sought:
    """The smallest batch that reaches so many samples a second, and fits."""
    _positive("throughput", samples_per_s, "samples a second")
    goal = f"{samples_per_s:g} samples/s"
    return _first(scenario, goal, lambda p: _rate(p) >= samples_per_s, answer, _throughput)


def batch_out_of_overhead(scenario: Scenario, answer: Predict = predict) -> Sought:
    """The smallest batch that is not ruled by overhead."""
    return _first(
        scenario, "out of the overhead regime", lambda p: p.regime != "overhead", answer,
        lambda p: f"{p.regime}-bound",
    )  # fmt: skip


def flip(
    scenario: Scenario, along: str = "bandwidth", *, down: bool = False, answer: Predict = predict
) -> Sought:
    """The factor of bandwidth, a peak, or the host's speed at which the regime flips."""
    shift = next_shift(scenario, along, down=down, answer=answer)
    if shift.first is None:
        raise InputError(f"no flip: {shift.sentence}; expected a change of regime; try {_OTHER}")
    there = axis(scenario, along).at(scenario, shift.first)
    found = answer(there)
    if found.regime != shift.after:
        raise AssertionError("a shift that its forward run does not show")
    goal = f"the regime flips along {along}"
    return Sought(goal, along, shift.first, shift.last, there, found, shift.sentence)


def fusion_for_time(scenario: Scenario, seconds: float, answer: Predict = predict) -> Sought:
    """The least fusion whose steps, back to back, take no longer than this each. `value` counts
    the levels of `simulator.fusion.LEVELS` from 0, none; `beyond` is the level below."""
    _positive("time", seconds, "seconds")
    return _level(scenario, f"a step within {seconds:g} s", seconds, answer)


def fusion_for_speedup(scenario: Scenario, times: float, answer: Predict = predict) -> Sought:
    """The least fusion that is this many times as fast as no fusion, steps back to back."""
    _positive("speed-up", times, "times")
    unfused = answer(apply(scenario, "fusion", {"level": "none"}))
    return _level(scenario, f"{times:g} times as fast", unfused.period_s / times, answer)


def _level(scenario: Scenario, goal: str, seconds: float, answer: Predict) -> Sought:
    """The first level of fusion within so many seconds. A level may be slower than the one below
    it, so that they are asked in turn."""
    tried: list[str] = []
    for at, level in enumerate(LEVELS):
        there = apply(scenario, "fusion", {"level": level})
        p = answer(there)
        says = f"fusion {level}: {p.period_s:.4g} s a step"
        if p.period_s <= seconds:
            p = answer(there)
            _verify(goal, p.period_s <= seconds)
            return Sought(goal, "fusion", at, at - 1 if at else None, there, p, says)
        tried.append(f"{level} takes {p.period_s:.4g} s")
    raise InputError(
        f"no level of fusion reaches the goal, {goal}, which is {seconds:.4g} s: "
        f"{', '.join(tried)}; expected a lower goal; try cuda_graph, another precision or GPU"
    )


_OTHER = "another axis, or the other direction (down)"


def _rate(p: Prediction) -> float:
    return p.trace.samples / p.period_s if p.period_s else 0.0


def _memory(p: Prediction) -> str:
    need = p.peak_memory_bytes + p.workspace_bytes
    return f"{need / 2**30:.1f} of {p.gpu.memory_bytes / 2**30:.1f} GiB"


def _latency(p: Prediction) -> str:
    return f"{p.latency_s:.4g} s alone"


def _throughput(p: Prediction) -> str:
    return f"{_rate(p):.4g} samples/s"


def _positive(what: str, value: float, unit: str) -> None:
    if not value > 0:
        raise InputError(f"{what} is {value}: expected more than 0 {unit}")


def _at(scenario: Scenario, batch: int, answer: Predict) -> tuple[Scenario, Prediction]:
    there = axis(scenario, "batch").at(scenario, batch)
    return there, answer(there)


Holds = Callable[[Prediction], bool]
Says = Callable[[Prediction], str]


@expecting(_POINTS)
def _last(scenario: Scenario, goal: str, holds: Holds, answer: Predict, says: Says) -> Sought:
    """The largest batch for which something holds that holds for smaller ones."""
    there, p = _at(scenario, 1, answer)
    if not holds(p):
        raise InputError(
            f"batch 1 misses the goal, {goal}: {says(p)}; expected a goal that one sample "
            "reaches; try another GPU or precision, or recompute"
        )
    good, bad = 1, 2
    while bad <= _LARGEST:
        if not holds(_at(scenario, bad, answer)[1]):
            break
        good, bad = bad, bad * 2
    else:
        bad = 0
    while bad and bad - good > 1:
        middle = (good + bad) // 2
        if holds(_at(scenario, middle, answer)[1]):
            good = middle
        else:
            bad = middle
    there, p = _at(scenario, good, answer)
    _verify(goal, holds(p))
    return Sought(goal, "batch", good, bad or None, there, p, f"batch {good}: {says(p)}")


@expecting(_POINTS)
def _first(scenario: Scenario, goal: str, holds: Holds, answer: Predict, says: Says) -> Sought:
    """The smallest batch for which something holds: the first doubling that has it, bisected."""
    bad, good = 0, 1
    while not holds((reached := _at(scenario, good, answer))[1]):
        if not reached[1].fits or good >= _LARGEST:
            raise InputError(
                f"no batch reaches the goal, {goal}: batch {good} has {says(reached[1])}"
                f"{'' if reached[1].fits else ' and does not fit'}; expected a lower goal; try "
                "another GPU, precision or mode"
            )
        bad, good = good, good * 2
    while good - bad > 1:
        middle = (good + bad) // 2
        if holds(_at(scenario, middle, answer)[1]):
            good = middle
        else:
            bad = middle
    there, p = _at(scenario, good, answer)
    _verify(goal, holds(p))
    if not p.fits:
        raise InputError(
            f"{goal}: batch {good} would have {says(p)} but does not fit ({_memory(p)}); expected "
            "a goal within memory; try another GPU or precision"
        )
    return Sought(goal, "batch", good, bad or None, there, p, f"batch {good}: {says(p)}")


def _verify(goal: str, holds: bool) -> None:
    if not holds:
        raise AssertionError(f"{goal}: the forward run does not show it")
