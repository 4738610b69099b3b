"""Zooms of a timeline with more than 50,000 slices."""

from __future__ import annotations

import time

from simulator.prediction import Prediction
from tests.benchmarks.explorer_windows import say

COUNT = 50_000


def long_step(count: int) -> Prediction:
    """A host-bound step, repeated until the GPU has `count` kernels and idle times."""
    from msgspec import structs

    from app.scenes.timeline.lanes import lanes
    from simulator.scenario.scenario import Scenario, predict
    from simulator.simulate.step import simulate
    from simulator.timing.profile import learned

    p = predict(Scenario("bert-base", batch=1, gpu="h200"))
    times = 2 + count // lanes(p).gpu.count
    repeated = structs.replace(p.trace, ops=p.trace.ops * times)
    return simulate(repeated, p.gpu, p.host, learned(p.gpu.id), "eager")


def zoom() -> None:
    """Time to draw the timeline after each key that zooms in."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from app.scenes.timeline.lanes import lanes
    from app.theme import DARK
    from app.views.timeline.canvas import TimelineCanvas
    from app.widgets.qt_repairs import keep_none

    keep_none()
    application = QApplication([])
    long = lanes(long_step(COUNT))
    for ratio in (1, 2):
        canvas = TimelineCanvas(DARK)
        canvas.resize(1400 * ratio, 420 * ratio)
        canvas.set(long)
        canvas.show()
        canvas.grab()
        seconds: list[float] = []
        for _ in range(22):
            QTest.keyClick(canvas, Qt.Key.Key_W)
            begin = time.perf_counter()
            canvas.grab()
            seconds.append(time.perf_counter() - begin)
        count = long.gpu.count + long.host.count
        note = f"slowest {max(seconds) * 1e3:.0f} ms, {count:,} slices"
        say(f"explorer: timeline zoomed, {1400 * ratio} px", seconds, note, 0.1)
    application.quit()
