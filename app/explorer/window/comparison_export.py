"""Exports the comparison of all scenarios as an HTML page, in the background."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.explorer.background.worker import SLOW
from app.explorer.files.exporting import KEY
from app.outputs import write
from app.scenes.sweep.curves import CancelledError
from app.time_left import running
from app.widgets.save_dialog import ask_where
from simulator.analysis.compare import comparison_predictions
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict

if TYPE_CHECKING:
    from app.explorer.window.window import Window


def export_comparison(window: Window) -> None:
    """Ask for a file, and write the page of scenarios A to D to it."""
    sides, _ = window.answering.sides()
    path = ask_where(window, "Export comparison", "comparison.html", ".html", "Web pages")
    if path is None:
        return

    def render(cancelled: Callable[[], bool]) -> str:
        from app.html.compared import compared_page  # its import slows the start

        total, done = comparison_predictions([side.scenario for side in sides]), 0

        def counted_predict(scenario: Scenario) -> Prediction:
            nonlocal done
            if cancelled():
                raise CancelledError
            done += 1
            running().count(done, total, "predictions")
            return predict(scenario)

        return compared_page(sides, counted_predict)

    def finish(text: str) -> None:
        window.opening.write_export(path, lambda: write("Export comparison", str(path), text))

    key = f"{KEY}comparison"
    window.worker.ask(key, render, finish, window.opening.fail, SLOW, True)
