"""The timed whole steps, as one small file that the explorer compares with predictions.

`python -m calibration.record.measured_steps` writes `simulator/measured/<gpu>.json` from the
recordings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from calibration.measure.instruments.host_index import index
from calibration.record.read import MEASUREMENTS, host_index, recordings, timed
from simulator.hardware.host import host as find_host
from simulator.measured.steps import FOLDER, MeasuredStep

RECORDED = ("recordings", "validation")
# not compiled_blind, whose host was half as fast
TIMED = ("batches", "compiled", "compiled_validation")
GPUS = ("h200_sxm",)
"""The GPUs whose host ran at a steady speed; the H100's host was sometimes half as fast, so its
periods are not representative."""

FITTED = ("recordings", "compiled")
"""Suites that were used in a fit (`compiled` only in the fit of the host); no other suite was."""


def steps(gpu: str) -> Iterator[MeasuredStep]:
    """Every timed step of a GPU, including those of graphs."""
    for suite in RECORDED:
        slower = index(host_index(suite, gpu), find_host().reference)
        for recording in recordings(suite, gpu):
            yield _step(recording.case, recording.period_s, recording.gpu_busy_s, suite, slower)
            if recording.graph and "period" in recording.graph:
                case = {**recording.case, "mode": "cuda_graph"}
                yield _step(case, recording.graph["period"]["median_s"], None, suite, slower)
    for suite in TIMED:
        if (MEASUREMENTS / gpu / f"{suite}.jsonl.gz").is_file():
            for step in timed(suite, gpu):
                slower = index(step.host_index, find_host().reference)
                yield _step(step.case, step.period_s, step.gpu_busy_s, suite, slower)


def _step(
    case: dict[str, Any], period_s: float, busy_s: float | None, suite: str, slower: float
) -> MeasuredStep:
    return MeasuredStep(
        network=case["network"],
        dtype=case["precision"],
        training=case["phase"] != "inference",
        optimizer=case["optimizer"],
        mode=case["mode"],
        batch=case["batch"],
        seq=case["seq"] or None,
        sizes=case["sizes"],
        period_s=float(f"{period_s:.5g}"),
        gpu_busy_s=None if busy_s is None else float(f"{busy_s:.5g}"),
        fitted=suite in FITTED,
        host_times=float(f"{slower:.4g}"),
    )


def text(gpu: str) -> str:
    """The file of a GPU, with one step per line."""
    lines = [json.dumps(msgspec.to_builtins(step), sort_keys=True) for step in steps(gpu)]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main() -> None:
    """Write the file of every GPU whose host ran at a steady speed."""
    for gpu in GPUS:
        path: Path = FOLDER / f"{gpu}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text(gpu), "utf-8")
        print(path)


if __name__ == "__main__":
    main()
