"""A status line on standard error that shows the current step, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING

from app.time_left import TimeLeft
from simulator.networks.loading.watching import WATCH
from simulator.scenario.scenario import predict

if TYPE_CHECKING:
    from simulator.prediction import Prediction
    from simulator.scenario.scenario import Scenario

Step = Callable[[str], None]


@contextmanager
def shown() -> Generator[Step]:
    """Yield a function that shows a step; it does nothing unless standard error is a terminal.

    Meanwhile, standard output goes to standard error, so that the output of the user's file does
    not mix with the result."""
    if not sys.stderr.isatty():
        with redirect_stdout(sys.stderr):
            yield lambda step: None
        return
    from app.terminal import Terminal  # imports rich: only on a terminal

    with Terminal(stderr=True).status("starting") as status, redirect_stdout(sys.stderr):
        left = TimeLeft()
        yield _watching(lambda step: status.update(f"{left.with_text(step)} …"))


def _watching(step: Step) -> Step:
    """Let `step` also receive the progress of a long trace; return it unchanged."""
    watch = WATCH.get()
    if watch is not None:
        WATCH.set(replace(watch, progress=step))
    return step


def counted(step: Step, items: str, total: int | None = None) -> Callable[[Scenario], Prediction]:
    """Wrap `predict` to show a count: "predicting 12 of 64 points"."""
    done = 0

    def counted_predict(scenario: Scenario) -> Prediction:
        nonlocal done
        done += 1
        step(f"predicting {done:,}{f' of {total:,}' if total else ''} {items}")
        return predict(scenario)

    return counted_predict
