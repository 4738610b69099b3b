"""Predicted against measured steps, and the achieved FLOP/s of single calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.plots.marks import Mark
from app.plots.picture import Picture
from app.quantities import scaled, seconds, trimmed
from app.scenes.ticks import decade_ticks, place
from app.theme import CURVE_WIDTH, LABEL_PX, Theme
from simulator.hardware.gpu import GPU
from simulator.prediction import Regime

Row = dict[str, Any]
_BAND = 1.15


def _kind(group: str) -> Regime:
    """A mark for a group of steps; overhead-bound ones are shown among their own."""
    if group.startswith("training"):
        return "overhead"
    return "memory" if "graph" in group else "compute"


class AccuracyPicture(Picture):
    """`rows` are outcomes as `ridgepoint calibrate validate --json` writes them."""

    SIZE = (1240, 620)

    def __init__(self, theme: Theme, rows: Sequence[Row], gpu: GPU) -> None:
        steps = [r for r in rows if r["figure"] == "period" and r["measured_s"]]
        calls = [r for r in rows if r["flops"] and r["bytes"] and r["group"].endswith("cold")]
        about = f"{len(steps)} steps and {len(calls)} calls on an {gpu.name}, never fitted"
        super().__init__(theme, "Predicted against measured", about)
        row = self.row
        self._steps(self.plot(row, 0, 6), steps)
        self._calls(self.plot(row, 6, 6), calls, gpu)

    def _steps(self, plot: Any, steps: Sequence[Row]) -> None:
        """One dot per step; the dashed lines are 15% to either side."""
        times = [r["measured_s"] for r in steps]
        low, high = min(times) / 1.6, max(times) * 1.6
        plot.setXRange(place(low), place(high), padding=0)
        plot.setYRange(place(low), place(high), padding=0)
        ticks = [(at, trimmed(seconds(2.0**at))) for at, _ in decade_ticks(low, high, 6)]
        for side in ("left", "bottom"):
            self.ticks(plot, side, ticks)
        self.axis_title(plot, "bottom", "Measured step time")
        self.axis_title(plot, "left", "Predicted")
        for factor, dashed in ((1.0, False), (_BAND, True), (1 / _BAND, True)):
            ends = [(place(x), place(x * factor)) for x in (low, high)]
            plot.addItem(self.line(ends, self.theme.line2, CURVE_WIDTH, dashed))
        for r in steps:
            kind = _kind(r["group"])
            x, y = place(r["measured_s"]), place(r["measured_s"] * r["ratio"])
            plot.addItem(Mark(self.theme, kind, x, y, 3.5))
        at = place(low) + 0.5
        top = place(high) - 0.8
        for number, text in enumerate(dict.fromkeys(r["group"] for r in steps)):
            y = top - 0.75 * number
            plot.addItem(Mark(self.theme, _kind(text), at, y, 3.5))
            self.pill(plot, text, at + 0.3, y, self.theme.ink2, (0.0, 0.5), 400, LABEL_PX)

    def _calls(self, plot: Any, calls: Sequence[Row], gpu: GPU) -> None:
        """What single calls achieve, measured, below the data sheet's roof."""
        points = [(r["flops"] / r["bytes"], r["flops"] / r["measured_s"]) for r in calls]
        shown = [(x, y) for x, y in points if x > 2e-2 and y > 1e8]
        peak = max(gpu.peak("tensor", d) or 0.0 for d in ("fp8", "int8", "bf16", "fp16"))
        peak = peak or gpu.peak("vector", "fp32") or 1e12
        low, high = 2e-2, max(x for x, _ in shown) * 2
        floor = min(y for _, y in shown) / 2
        plot.setXRange(place(low), place(high), padding=0)
        plot.setYRange(place(floor), place(peak * 3), padding=0)
        self.ticks(plot, "bottom", decade_ticks(low, high, 7))
        marks = decade_ticks(floor, peak * 3, 8)
        self.ticks(plot, "left", [(at, trimmed(scaled(2.0**at, "FLOP/s"))) for at, _ in marks])
        self.axis_title(plot, "bottom", "Intensity, FLOP per byte")
        ridge = peak / gpu.bandwidth_bytes_per_s
        slope = [(place(low), place(low * gpu.bandwidth_bytes_per_s)), (place(ridge), place(peak))]
        plot.addItem(self.line([*slope, (place(high), place(peak))], self.theme.ink, CURVE_WIDTH))
        for x, y in shown:
            kind: Regime = "memory" if x < ridge else "compute"
            plot.addItem(Mark(self.theme, kind, place(x), place(y), 2.2))
        self.pill(
            plot,
            "data-sheet roof",
            place(ridge),
            place(peak * 1.5),
            self.theme.ink2,
            (0.5, 0.5),
            400,
            LABEL_PX,
        )
