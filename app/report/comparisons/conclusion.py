"""The conclusion of a comparison of two scenarios, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.quantities import plain, seconds, signed_seconds
from app.report.comparisons.ratios import per_sample, ratio, sample_s
from simulator.modes import compiles

if TYPE_CHECKING:
    from app.answers.side import Side
    from simulator.analysis.compare import Waterfall
    from simulator.prediction import Prediction

_MINUTE_S = 60.0


def conclusion(a: Side, b: Side, fall: Waterfall | None = None) -> tuple[str, ...]:
    """Sentences about the faster scenario, the largest change, the regimes, scenarios that do not
    fit, and the number of steps that repay the compile time. `fall` adds the largest change.
    """
    one, other = a.prediction, b.prediction
    return tuple(
        text
        for text in (
            _faster(a, b),
            _largest(fall),
            f"Both are {one.regime}-bound."
            if one.regime == other.regime
            else f"{a.letter} is {one.regime}-bound, {b.letter} is {other.regime}-bound.",
            *(
                f"{side.letter} does not fit in the memory of {side.prediction.gpu.name}."
                for side in (a, b)
                if not side.prediction.fits
            ),
            _compiled(one, other),
        )
        if text
    )


def _faster(a: Side, b: Side) -> str:
    one, other = a.prediction, b.prediction
    by_sample = per_sample((one, other))
    before, after = (sample_s(p) if by_sample else p.period_s for p in (one, other))
    times, _, intervals = ratio(one, other).partition(", ")
    unit = "a sample" if by_sample else "a step"
    if not intervals:
        return f"{b.letter} is {times} as {a.letter}: {seconds(after)} {unit}."
    sure = (
        ""
        if intervals.endswith("apart")
        else "; the 80% intervals overlap, so the order is uncertain"
    )
    return (
        f"{b.letter} is {times.removesuffix(' per sample')} than {a.letter}: {seconds(after)} "
        f"{unit} instead of {seconds(before)}{sure}."
    )


def _largest(fall: Waterfall | None) -> str:
    """The change that contributes most, if there are several."""
    steps = [s for s in fall.steps if s.change_s] if fall is not None else []
    if len(steps) < 2:
        return ""
    most = max(steps, key=lambda step: abs(step.change_s))
    return f"The largest part comes from {most.label} ({signed_seconds(most.change_s)} a step)."


def _compiled(one: Prediction, other: Prediction) -> str:
    """The number of steps that repay a minute of compilation, if only one of the scenarios is
    compiled."""
    if compiles(one.mode) == compiles(other.mode):
        return ""
    compiled, eager = (one, other) if compiles(one.mode) else (other, one)
    once = "torch.compile also takes compile time once, which is not predicted"
    saved_s = sample_s(eager) - sample_s(compiled)
    if saved_s <= 0:
        return f"{once}."
    steps = _MINUTE_S / (saved_s * max(compiled.trace.samples, 1))
    return f"{once}: each minute of it pays off after {plain(_rounded(steps))} steps."


def _rounded(count: float) -> float:
    """A count with two significant digits."""
    return float(f"{count:.2g}")
