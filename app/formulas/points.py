"""Formulas of one point of a sweep, a map or combinations."""

from __future__ import annotations

from collections.abc import Mapping

from app.formulas.formula import Formula
from app.quantities import between, percent, seconds
from simulator.prediction import REGIMES


def time_at(where: str, at: Mapping[str, float]) -> Formula:
    """The time of a step, from the columns of `simulator.analysis.sweep` at a point."""
    period, busy = at["period_s"], at["gpu_busy_s"]
    return Formula(
        f"Time at {where}",
        "time in which a kernel runs + waiting",
        f"{seconds(busy)} + {seconds(max(0.0, period - busy))} = {seconds(period)}",
        f"80% interval {between(at['low_s'], at['high_s'], period)}. {_shares(at)}.",
        "05-one-sentence-or-sixty",
    )


def regime_at(where: str, at: Mapping[str, float]) -> Formula:
    """The regime at a point."""
    parts = " + ".join(f"{percent(at[r])} {r}" for r in REGIMES)
    rules = max(REGIMES, key=lambda r: at[r])
    return Formula(
        f"Regime at {where}",
        "the largest of the three shares, s = −∂ ln T / ∂ ln rate",
        f"{parts}: {rules}-bound",
        f"The step takes {seconds(at['period_s'])}, {seconds(at['gpu_busy_s'])} of it in kernels.",
        "01-three-regimes",
    )


def rate_at(where: str, samples_per_s: float, period_s: float, rate_text: str) -> Formula:
    """The throughput at a point; `rate_text` is its text."""
    samples = round(samples_per_s * period_s)
    return Formula(
        f"Throughput of {where}",
        "samples of a step / its time",
        f"{samples:,} / {seconds(period_s)} = {rate_text}",
        "",
        "05-one-sentence-or-sixty",
    )


def _shares(at: Mapping[str, float]) -> str:
    return ", ".join(f"{percent(at[r])} {r}" for r in REGIMES)
