"""The table of attention kernels and their costs, against recordings on an H200."""

from __future__ import annotations

import gzip
import json
from functools import cache
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from calibration.cases.calls.attention_points import Point, operands
from calibration.cases.calls.capture import calls
from calibration.measure.attention_paths import attend
from calibration.record.read import MEASUREMENTS
from simulator import predict_trace
from simulator.costs.attention.selection import choose
from simulator.hardware.waits import uncapturable
from simulator.tracing import trace_call
from simulator.tracing.semantics.attention import call_of

HOPPER: Any = SimpleNamespace(capability=(9, 0))
BACKENDS = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn"}  # SDPBackend


@cache
def rows(part: str) -> list[dict[str, Any]]:
    with gzip.open(MEASUREMENTS / "h200_sxm" / "attention_paths.jsonl.gz", "rt") as file:
        return [row for line in file if (row := json.loads(line)).get("part") == part]


@pytest.mark.layered(5, daily=["fp16-transposed_q", "fp32-float_misaligned"])
@pytest.mark.parametrize("row", rows("choice"), ids=lambda row: f"{row['dtype']}-{row['mask']}")
def test_the_kernel_is_the_one_that_torch_chose(row: dict[str, Any]) -> None:
    """Every fifth point of the grid, with gradients and without: 42 rows × 96 points."""
    wrong: list[Any] = []
    for *rest, without, with_gradients in row["found"][::5]:
        for training, backend in ((False, without), (True, with_gradients)):
            with torch.set_grad_enabled(training):
                inputs = operands(Point(row["dtype"], row["mask"], *rest), "meta", training)
            q, k, v, mask, _, causal = inputs.args
            call = call_of(HOPPER, q, k, v, mask, causal, inputs.kwargs["enable_gqa"])
            if choose(call) != BACKENDS[backend]:
                wrong.append((rest, training, BACKENDS[backend]))
    assert len(row["found"]) == 240
    assert not wrong


UNLIKE = {
    "equal": "a tensor and itself, which torch does not compare",
    "ctc_loss": "no shape rule for it here",
    "print_number": "a number that is formatted has no data here",
}


def test_calls_that_a_cuda_graph_captures() -> None:
    """97 calls: each is refused here if the GPU refused it."""
    recorded = {row["call"]: row["captured"] for row in rows("capture")}
    capturable: dict[str, bool] = {}
    for name in recorded.keys() - UNLIKE.keys():
        traced_call = trace_call(lambda name=name: dict(calls("cuda"))[name], run="captured")
        capturable[name] = not any(uncapturable(s) for s in traced_call.signatures[0])
    assert len(recorded) == 97
    assert capturable == {name: recorded[name] for name in capturable}


def point_of(row: dict[str, Any]) -> Point:
    return Point(**{name: row[name] for name in Point.__dataclass_fields__})


def traced(row: dict[str, Any]) -> Any:
    def make() -> Any:
        inputs = operands(point_of(row), "cuda", row["training"])
        return lambda: attend(inputs, row["training"])

    return trace_call(make)


def test_the_ops_are_those_that_torch_dispatched() -> None:
    """The ops of forward passes; a profile of a backward pass also contains the detaches of
    autograd.
    """
    for row in rows("kernels"):
        if not row["training"]:
            assert traced(row).names() == row["ops"], point_of(row)


def test_math_launches_what_it_launched_and_takes_as_long() -> None:
    """Includes keys that are repeated for groups, and cast masks."""
    errors: list[float] = []
    for row in rows("kernels"):
        if "aten._safe_softmax.default" in row["ops"] and not row["training"]:
            prediction = predict_trace(traced(row))
            assert prediction.kernel_count == len(row["kernels"]), point_of(row)
            errors.append(
                abs(prediction.gpu_busy_s / sum(warm for _, warm, _ in row["kernels"]) - 1)
            )
    assert len(errors) == 25
    assert median(errors) < 0.04 and max(errors) < 0.1
