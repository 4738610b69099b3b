"""Formulas of differences: between sides, by fusion, of a part, and from a measurement."""

from __future__ import annotations

from app.formulas.formula import Formula
from app.quantities import change, data, number, percent, seconds, signed_seconds
from simulator.analysis.compare import Step, Waterfall


def from_a_to_b(fall: Waterfall) -> Formula:
    """The changes from A to B, which add up to the difference."""
    steps = " ".join(_signed(step.change_s) for step in fall.steps)
    ratio = fall.a.period_s / fall.b.period_s if fall.b.period_s else 1.0
    return Formula(
        "From A to B",
        "time of A + the effect of each change after the previous ones",
        f"{seconds(fall.a.period_s)} {steps} = {seconds(fall.b.period_s)}".replace("  ", " "),
        f"A / B = {number(ratio)}.",
        "07-faster-gpu",
    )


def one_step(step: Step) -> Formula:
    """One change, after the previous ones and alone."""
    before = step.period_s - step.change_s
    alone = (
        ""
        if step.alone_s is None
        else (
            f"Applied alone, it adds {signed_seconds(step.alone_s)} to A (the ring). If the two "
            "figures differ, the changes interact."
        )
    )
    return Formula(
        step.label,
        "the step with it − the step before it",
        f"{seconds(step.period_s)} − {seconds(before)} = {signed_seconds(step.change_s)} "
        f"({change(before, step.period_s)})",
        alone,
        "07-faster-gpu",
    )


def moved_bytes(name: str, unfused_bytes: int, saved_bytes: int, launches: int) -> Formula:
    """DRAM bytes of a part of the network with fused ops."""
    return Formula(
        f"DRAM bytes of {name}",
        "bytes that each kernel reads and writes − bytes that stay on the chip",
        f"{data(unfused_bytes)} − {data(saved_bytes)} = {data(unfused_bytes - saved_bytes)}",
        f"{launches:,} launch{'es' * (launches != 1)} fewer."
        if launches
        else "Nothing is fused: every intermediate is written to memory and read again.",
        "02-one-cosine-and-two",
    )


def of_step(name: str, part_s: float, step_s: float, launches: int) -> Formula:
    """A part's share of the step."""
    share = percent(part_s / step_s) if step_s else "0%"
    means = (
        f"{launches:,} launch{'es' * (launches != 1)}, each with its own start and end."
        if launches
        else ""
    )
    return Formula(
        f"Share of {name}",
        "its time / time of the step",
        f"{seconds(part_s)} / {seconds(step_s)} = {share}",
        means,
        "01-three-regimes",
    )


def against_measured(name: str, predicted_s: float, measured_s: float) -> Formula:
    """The ratio of a prediction to a measurement."""
    over = predicted_s / measured_s if measured_s else float("inf")
    return Formula(
        f"{name}, predicted over measured",
        "predicted time / measured time",
        f"{seconds(predicted_s)} / {seconds(measured_s)} = {number(over)}",
        "It is 1 on the diagonal.",
    )


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'} {seconds(abs(value))}"
