"""A regime map as a table, one row per point."""

from __future__ import annotations

from app.quantities import between, data, percent, seconds
from app.scenes.plain_points import PLAIN_HEADS, plain_number, plain_point
from app.scenes.regime_map.scene import Chart
from app.scenes.sweep.curves import axis_name, value_words
from simulator.prediction import REGIMES
from simulator.scenario.scenario import Value


def table(chart: Chart) -> list[list[str]]:
    """Column heads, then the points, x varying fastest; a point without an answer has the
    reason."""
    heads = [
        axis_name(chart.x.name),
        axis_name(chart.y.name),
        "Time",
        "80% interval",
        *(r.capitalize() for r in REGIMES),
        "Bound by",
        "Memory at the peak",
        "Fits",
    ]
    rows = [heads]
    for row, y in enumerate(chart.y.values):
        for column, x in enumerate(chart.x.values):
            spot, own = (column, row), [value_words(x), value_words(y)]
            if why := chart.why(spot):
                rows.append([*own, f"no answer: {why}"])
                continue
            at = chart.figures(spot)
            rows.append(
                [
                    *own,
                    seconds(at["period_s"]),
                    between(at["low_s"], at["high_s"], at["period_s"]),
                    *(percent(at[r]) for r in REGIMES),
                    REGIMES[int(at["regime"])],
                    data(at["memory_bytes"]),
                    "yes" if at["fits"] else "no",
                ]
            )
    return rows


def plain_table(chart: Chart | None) -> list[list[str]]:
    """The points with numbers in SI units, below their heads; the reason why a point has no answer
    is in the last column. Empty without a map."""
    if chart is None or chart.field is None:
        return []
    rows = [[axis_name(chart.x.name), axis_name(chart.y.name), *PLAIN_HEADS, "No answer because"]]
    for row, y in enumerate(chart.y.values):
        for column, x in enumerate(chart.x.values):
            spot, why = (column, row), chart.why((column, row))
            empty = [""] * len(PLAIN_HEADS)
            cells = empty if why else plain_point(chart.figures(spot))
            rows.append([*map(_plain_value, (x, y)), *cells, why])
    return rows


def _plain_value(value: Value) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return plain_number(value)
    return str(value)
