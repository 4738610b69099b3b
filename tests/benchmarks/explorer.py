"""Response times of the explorer: start, sliders, stalls and cancellation, and its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from statistics import median

from tests.benchmarks.timing import Row

_STARTS = 5


def explorer() -> Iterator[Row]:
    """Run each benchmark in a separate process, without a screen and with an empty state folder."""
    with tempfile.TemporaryDirectory() as folder:
        places = {"RIDGEPOINT_STATE": f"{folder}/state", "RIDGEPOINT_TRACES": f"{folder}/traces"}
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", **places}
        starts = [
            row for _ in range(_STARTS) for row in _ran(environment, "start", str(time.time()))
        ]
        yield _row(starts[0][0], [each[1][0] for each in starts], starts[0][2], starts[0][3])
        for run in (
            ("slider", "bert"),
            ("slider", "llama"),
            ("stalls",),
            ("cancel",),
            ("zoom",),
            ("memory", "sessions"),
            ("memory", "windows"),
        ):
            for figure, seconds, note, required_s in _ran(environment, *run):
                yield _row(figure, seconds, note, required_s)


def _ran(
    environment: dict[str, str], *run: str
) -> Iterator[tuple[str, list[float], str, float | None]]:
    words = [sys.executable, "-m", "tests.benchmarks.explorer_runs", *run]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith("["):
                yield tuple(json.loads(line))


def _row(figure: str, seconds: list[float], note: str, required_s: float | None) -> Row:
    late = sorted(seconds)[round(0.95 * (len(seconds) - 1))]
    text = f"p95 {late * 1e3:.0f} ms, {note}" if len(seconds) > 1 else note
    goal = float("nan") if required_s is None else required_s
    return Row(
        figure, goal, median(seconds), float("nan"), len(seconds), 0, os.getloadavg()[0], text
    )
