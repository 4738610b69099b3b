"""The card of a point on a sweep."""

from __future__ import annotations

from app.quantities import between, count_of, data, percent, seconds
from app.scenes.sweep.curves import Curve, Curves, axis_name, value_words
from app.widgets.canvas import Card
from simulator.prediction import REGIMES


def card(sweep: Curves, first: Curve, row: int) -> Card:
    """Figures at point `row` of the current side's curve `first`, with the other sides' times."""
    value = float(first.values[row])
    figure = {name: float(column[row]) for name, column in first.columns.items()}
    rows = [("Time, 80%", _timed(first, row))]
    for other in sweep.curves[1:]:
        other_row = other.row(value)
        if other_row is not None:
            rows.append((f"{other.side.letter}  {other.side.name}", _timed(other, other_row)))
    for point in first.measured:
        if point.value == value:
            predicted_s = figure["gpu_busy_s" if point.busy else "period_s"]
            rows.append(("Measured", point.words(predicted_s)))
    shares = ", ".join(f"{percent(figure[r])} {r}" for r in REGIMES)
    fits = "" if figure["fits"] else ", does not fit"
    rows += [
        ("GPU busy", seconds(figure["gpu_busy_s"])),
        ("Throughput", count_of(figure["samples_per_s"], "samples/s")),
        ("Shares", shares),
        ("Memory", data(figure["memory_bytes"]) + fits),
    ]
    regime = first.regime(row)
    return Card(
        f"{axis_name(sweep.axis)} {value_words(value)}", tuple(rows), f"{regime}-bound", regime
    )


def _timed(curve: Curve, row: int) -> str:
    """A time with its interval."""
    low, high, time = (float(curve.columns[n][row]) for n in ("low_s", "high_s", "period_s"))
    return f"{seconds(time)}, {between(low, high, time)}"
