"""Compare steps over several GPUs of one host with predictions made before the measurement.

The predictions are those of the code before the measurement (`predicted_steps.jsonl.gz`), or of the
current code. Errors are |predicted / measured − 1|; slow-down is the ratio of the period to that of
the same step on one GPU. The peak memory of captured steps is not compared: it was measured after
the capture, and lacks the pool of the CUDA graph.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MEASUREMENTS = Path(__file__).parents[1] / "measurements"


class Machine(NamedTuple):
    """GPUs of one host that ran the steps: their folder, and the file of the steps that had been
    predicted."""

    folder: str
    steps: str


MACHINES = {
    "2xh200": Machine("h200_sxm_x2", "parallel_steps_second"),
    "4xh100": Machine("h100_sxm_x4", "parallel_steps"),
    "4xh200": Machine("h200_sxm_x4", "parallel_steps"),
    "2xh100": Machine("h100_sxm_x2", "parallel_steps"),
}
"""The machines by cluster."""
FIRST = "2xh200"
KINDS = {
    "ddp": "DDP",
    "fsdp": "FSDP2",
    "tensor": "tensor parallel",
    "pipeline": "pipeline (1F1B)",
    "experts": "experts (all-to-all)",
}
FIGURES = ("period", "slow-down over one GPU", "peak memory")
INTERVAL = "in the 80% interval"
GPU_DECIDES = 0.5
"""The largest share of overhead in a GPU-bound step."""

Row = dict[str, Any]


def measured_file(name: str, machine: str = FIRST) -> Path:
    """A file of measurements on a machine."""
    return MEASUREMENTS / MACHINES[machine].folder / f"{name}.jsonl.gz"


def rows(name: str, machine: str = FIRST) -> list[Row]:
    """The lines of a machine's file without the first one, which describes it."""
    with gzip.open(measured_file(name, machine), "rt", encoding="utf-8") as file:
        return [row for row in map(json.loads, file) if "case" in row or "part" in row]


def predicted_before(machine: str = FIRST) -> dict[int, Row]:
    """The predictions that were written before the measurement, by step."""
    each = rows("predicted_steps", machine)
    return {row["step"]: row for row in each if "period_s" in row}


def measured(predictions: Mapping[int, Row], machine: str = FIRST) -> list[Row]:
    """The measured steps that have a prediction."""
    return [
        row
        for row in rows(MACHINES[machine].steps, machine)
        if "period_s" in row and row["step"] in predictions
    ]


def errors(
    how: str, predictions: Mapping[int, Row], machine: str = FIRST, most_overhead: float = 1.0
) -> dict[str, list[float]]:
    """The errors of the steps of a kind by figure; for the interval, 1 if it contains the period
    and else 0. Only steps whose predicted share of overhead is at most `most_overhead` count."""
    by_figure: dict[str, list[float]] = {name: [] for name in (*FIGURES, INTERVAL)}
    for row in measured(predictions, machine):
        if row["how"] != how:
            continue
        p = predictions[row["step"]]
        if p["shares"]["overhead"] > most_overhead:
            continue
        ratios = {"period": p["period_s"] / row["period_s"]}
        if "one_gpu" in row:  # the whole step may not fit on one GPU
            ratios["slow-down over one GPU"] = _slow_down(p) / _slow_down(row)
        if not row["graph"]:
            ratios["peak memory"] = max(p["peak_bytes"]) / max(row["peak_bytes"])
        for name, ratio in ratios.items():
            by_figure[name].append(abs(ratio - 1))
        low_s, high_s = p["interval_s"]
        by_figure[INTERVAL].append(float(low_s <= row["period_s"] <= high_s))
    return by_figure


def _slow_down(row: Row) -> float:
    return row["period_s"] / row["one_gpu"]["period_s"]


def table(predictions: Mapping[int, Row], machine: str = FIRST) -> Iterator[str]:
    """The lines of a Markdown table: median and 90th percentile of the errors of each kind, and the
    same for the steps that are predicted to be GPU-bound."""
    yield f"| what | steps | {' | '.join(FIGURES)} | {INTERVAL} |"
    yield "|---" * (3 + len(FIGURES)) + "|"
    for how, name in KINDS.items():
        each = errors(how, predictions, machine)
        yield from _line(name, each)
        by_gpu = errors(how, predictions, machine, GPU_DECIDES)
        if len(by_gpu["period"]) < len(each["period"]):
            yield from _line(f"… GPU-bound: {name}", by_gpu)


def _line(name: str, each: Mapping[str, list[float]]) -> Iterator[str]:
    if not each["period"]:
        return
    cells = [
        "{:.1f} / {:.0f}%".format(*(100 * np.quantile(each[figure], (0.5, 0.9))))
        if each[figure]
        else "–"
        for figure in FIGURES
    ]
    covered = f"{np.mean(each[INTERVAL]):.0%}"
    yield f"| {name} | {len(each['period'])} | {' | '.join(cells)} | {covered} |"
