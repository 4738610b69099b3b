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
    fit, and the compile time. `fall` adds the largest change, and the number of steps that repay
    the compile time.
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
            _compiled(one, other, fall),
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
    """The change that contributes most to the difference of the scenarios, if there are several,
    per sample if the scenarios are compared per sample."""
    if fall is None or ratio(fall.a, fall.b) == "as fast":
        return ""
    by_sample = per_sample((fall.a, fall.b))
    effects = [(s.sample_change_s if by_sample else s.change_s, s.label) for s in fall.steps]
    effects = [effect for effect in effects if effect[0]]
    if len(effects) < 2:
        return ""
    slower = sum(change_s for change_s, _ in effects) > 0
    most_s, label = (max if slower else min)(effects)
    return (
        f"The largest part comes from {label} ({signed_seconds(most_s)} a "
        f"{'sample' if by_sample else 'step'})."
    )


def _compiled(one: Prediction, other: Prediction, fall: Waterfall | None) -> str:
    """The number of steps that repay a minute of compilation, if only one of the scenarios is
    compiled: by what the compiler alone saves in a step of A."""
    if compiles(one.mode) == compiles(other.mode):
        return ""
    once = "torch.compile also takes compile time once, which is not predicted"
    switches = [step for step in fall.steps if step.switches_compiler] if fall is not None else []
    alone_s = switches[0].alone_s if len(switches) == 1 else None
    saved_s = 0.0 if alone_s is None else alone_s if compiles(one.mode) else -alone_s
    if saved_s <= 0:
        return f"{once}."
    steps = plain(_rounded(_MINUTE_S / saved_s))
    which = " of A" if fall is not None and len(fall.steps) > 1 else ""
    return f"{once}: each minute of it pays off after {steps} steps{which}."


def _rounded(count: float) -> float:
    """A count with two significant digits."""
    return float(f"{count:.2g}")
