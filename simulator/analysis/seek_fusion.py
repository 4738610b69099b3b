"""Goal seek over the levels of fusion: the lowest one that is fast enough."""

from __future__ import annotations

from simulator.analysis.along import Figures, Watch, unwatched
from simulator.analysis.seek import SeekResult, positive
from simulator.analysis.sweep import Predictor
from simulator.errors import InputError
from simulator.fusion import LEVELS
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply


def fusion_for_time(
    scenario: Scenario, seconds: float, predictor: Predictor = predict, watch: Watch = unwatched
) -> SeekResult:
    """The lowest level of fusion whose steps, back to back, take at most `seconds` each. `value` is
    the index of the level in `simulator.fusion.LEVELS` (0: none); `beyond` is the level below."""
    positive("time", seconds, "seconds")
    return _level(scenario, f"a step within {seconds:g} s", seconds, predictor, watch)


def fusion_for_speedup(
    scenario: Scenario, times: float, predictor: Predictor = predict, watch: Watch = unwatched
) -> SeekResult:
    """The lowest level of fusion whose steps, back to back, run `times` times as fast as without
    fusion."""
    positive("speed-up", times, "times")
    unfused = predictor(apply(scenario, "fusion", {"level": "none"}))
    return _level(scenario, f"{times:g} times as fast", unfused.period_s / times, predictor, watch)


def _level(
    scenario: Scenario, goal: str, seconds: float, predictor: Predictor, watch: Watch
) -> SeekResult:
    """The first level of fusion whose step takes at most `seconds`. A level may be slower than the
    one below it, so they are tried in order."""
    tried: list[str] = []
    figures: dict[float, Figures] = {}
    for at, level in enumerate(LEVELS):
        variant = apply(scenario, "fusion", {"level": level})
        p = predictor(variant)
        figures[at] = Figures.of(p)
        watch(figures)
        says = f"fusion {level}: {p.period_s * 1e3:.4g} ms a step"
        if p.period_s <= seconds:
            p = predictor(variant)
            _verify(goal, p.period_s <= seconds)
            return SeekResult(goal, "fusion", at, at - 1 if at else None, variant, p, says)
        tried.append(f"{level} takes {p.period_s * 1e3:.4g} ms")
    raise InputError(
        f"no level of fusion reaches the goal, {goal}, which is {seconds * 1e3:.4g} ms: "
        f"{', '.join(tried)}; expected an easier goal; try cuda_graph, another precision or GPU"
    )


def _verify(goal: str, holds: bool) -> None:
    if not holds:
        raise AssertionError(f"{goal}: a single prediction does not confirm the result")
