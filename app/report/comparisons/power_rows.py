"""Rows of a comparison about power, energy and the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.answers.power import clocks
from app.quantities import joules, number
from app.report.comparisons.ratios import per_sample
from simulator.prediction import Prediction
from simulator.timing.power import Power

PowerRow = tuple[str, list[str], list[float] | None]
"""A label, a cell of each prediction, and the values if less is better and each is known."""


def power_rows(predictions: Sequence[Prediction], roomy: bool) -> list[PowerRow]:
    """All rows if the power limits differ, else those in which predictions differ; none if no power
    is known. `roomy` columns also show the highest clock."""

    def clock(power: Power) -> str:
        return clocks(power) if roomy else f"{power.clock_hz * 1e-6:,.0f} MHz"

    watts = _cells(predictions, lambda _, power: f"{number(power.watts)} W")
    rows: list[PowerRow] = [
        ("power", watts, None),
        _energy("energy a step", predictions, lambda _, power: power.joules),
    ]
    if per_sample(predictions):
        rows.append(_energy("energy a sample", predictions, _sample_j))
    rows.append(("clock", _cells(predictions, lambda _, power: clock(power)), None))
    limits = _cells(predictions, lambda _, power: f"{number(power.limit_w)} W")
    if len(set(limits) - {"unknown"}) > 1:
        return [*rows[:1], ("power limit", limits, None), *rows[1:]]
    return [row for row in rows if len(set(row[1])) > 1]


def _sample_j(p: Prediction, power: Power) -> float:
    return power.joules / max(p.trace.samples, 1)


def _energy(
    label: str,
    predictions: Sequence[Prediction],
    figure: Callable[[Prediction, Power], float],
) -> PowerRow:
    values = [figure(p, p.power) for p in predictions if p.power is not None]
    cells = _cells(predictions, lambda p, power: joules(figure(p, power)))
    return label, cells, values if len(values) == len(predictions) else None


def _cells(
    predictions: Sequence[Prediction], text: Callable[[Prediction, Power], str]
) -> list[str]:
    return ["unknown" if p.power is None else text(p, p.power) for p in predictions]
