"""CUDA graphs of networks from transformers and timm, which must be installed. The intervals of the
measured cards cover them, because they resemble the networks of the fit less. They were measured
with transformers 5.17; other versions build other masks, and so run other kernels."""

from __future__ import annotations

from collections.abc import Iterator

from calibration.record.read import MEASUREMENTS, recordings
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.errors import InputError
from simulator.hardware.gpu import GPU

PACKAGES = ("packages_third", "packages_fourth", "packages_fifth")
"""Suites of these networks; not all were measured on every card."""


def on_packages(gpu: GPU) -> Iterator[float]:
    """Measured over predicted periods of the CUDA graphs of `PACKAGES`."""
    for suite in PACKAGES:
        if not (MEASUREMENTS / gpu.id / f"{suite}.jsonl.gz").is_file():
            continue
        for recording in recordings(suite, gpu.id):
            if not recording.graph or "period" not in recording.graph:
                continue
            traced = retrace(recording.case, "cuda_graph")
            try:
                predicted = predict_trace(traced, gpu=gpu.id, mode="cuda_graph")
            except InputError as error:  # the step cannot be captured
                print(f"left out: {recording.name}: {str(error)[:80]}")
                continue
            yield recording.graph["period"]["median_s"] / predicted.period_s
