"""The measured cases of a card's energy, and the work of each as the simulator counts it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from calibration.record.read import MEASUREMENTS
from simulator import trace as traced
from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.lowering import lower
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict
from simulator.schedule.launch_plan import issued
from simulator.timing.energies import computing, features, lanes_per_s
from simulator.timing.profile import learned
from simulator.timing.rates import l2_kept_bytes
from simulator.timing.roofline import roofs

_BURST_S = 0.05
"""Seconds for which a card runs above its limit after a pause, since its power is averaged over
that time."""
_TENSOR_FLOPS_PER_S = {"bf16": 8e14, "fp16": 7.7e14, "tf32": 4e14, "fp8": 1.4e15}
"""The clock of large products before the power limit applies, as a share of the highest."""


@dataclass(frozen=True)
class EnergyCase:
    """A case of `calibration.measure.energy`.

    seconds, watts    mean of a sustained iteration
    burst_s           seconds of an iteration before the power limit applies
    limited           whether the power limit lowered the clock
    work              work of an iteration as the script counts it
    step              options of a whole step, or None for kernels
    """

    name: str
    seconds: float
    burst_s: float
    watts: float
    clock_hz: float
    limited: bool
    work: Mapping[str, float]
    step: Mapping[str, Any] | None
    host_reference_s: float | None = None


def read_cases(card: str) -> tuple[float, list[EnergyCase]]:
    """Watts at rest with an open context, and all cases of a card."""
    with gzip.open(MEASUREMENTS / card / "energy.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rest_w = next(row["power_w"] for row in rows if row.get("name") == "rest")
    cases = [
        EnergyCase(
            name=row["name"],
            seconds=row["sustained_s"],
            burst_s=_burst_s(row["chunks"]) or row["sustained_s"],
            watts=row["power_w"],
            clock_hz=row["clock_hz"],
            limited=4 in row["reasons"],
            work=row["work"],
            step=row["step"],
            host_reference_s=row.get("host_reference_s"),
        )
        for row in rows
        if "sustained_s" in row
    ]
    return rest_w, cases


def _burst_s(chunks: Sequence[tuple[float, int]]) -> float | None:
    """Seconds per iteration over the first chunks, or None if one chunk outlasts the burst."""
    begin_s, begin = chunks[0]
    inside = [(at, count) for at, count in chunks[1:] if at - begin_s <= _BURST_S]
    if not inside:
        return None
    at, count = inside[-1]
    return (at - begin_s) / (count - begin)


class _Call(nn.Module):
    def __init__(self, call: Any) -> None:
        super().__init__()
        self.call = call

    def forward(self, *inputs: Any) -> Any:
        return self.call(*inputs)


def _lowered(card: str, call: Any, *inputs: torch.Tensor) -> dict[str, float]:
    gpu = find_gpu(card)
    lowered = lower(traced(_Call(call), inputs, gpu=card), gpu)
    total = _total_work(lowered.works, lowered.work_of, gpu)
    total["dram_byte"] = total["l2_byte"]
    return total


def _total_work(works: Sequence[Work], work_of: NDArray[np.int64], gpu: GPU) -> dict[str, float]:
    table = roofs(works, gpu, learned(gpu.id))
    total: dict[str, float] = {}
    for work, count, compute_s in zip(
        works, np.bincount(work_of, minlength=len(works)), table.compute_s, strict=True
    ):
        amounts = features(work, gpu)
        if computing(work) == "instruction":
            amounts["instruction"] = float(compute_s) * lanes_per_s(gpu)
        if computing(work) == "tensor":
            amounts["computing_s"] = float(compute_s)
        for name, amount in amounts.items():
            total[name] = total.get(name, 0.0) + float(amount) * int(count)
    return total


def predict_step(case: EnergyCase, card: str) -> Prediction:
    """Predict the whole step of a case."""
    assert case.step is not None
    options = {name: case.step[name] for name in ("network", "batch", "optimizer", "sizes")}
    return predict(
        Scenario(
            **options,
            seq=case.step["seq"] or None,
            dtype=case.step["precision"],
            gpu=card,
            training=case.step["phase"] == "training",
        )
    )


def _step_work(case: EnergyCase, card: str) -> dict[str, float]:
    p = predict_step(case, card)
    total = _total_work(p.works, p.columns.work_of, p.gpu)
    hot = issued(p.trace, p.gpu).hot_share(l2_kept_bytes(p.gpu, learned(card)))
    moved = np.array([work.bytes for work in p.works], float)[p.columns.work_of]
    return {**total, "dram_byte": float(moved @ (1 - hot))}


def _empty(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


def work_of(case: EnergyCase, card: str) -> dict[str, float]:
    """The work of an iteration, as the simulator counts it: by `features`, and `dram_byte`."""
    rows = _empty(2**18, 1024)
    if case.step:
        return _step_work(case, card)
    if case.name == "attention/bf16":
        heads = [_empty(8, 32, 4096, 128) for _ in range(3)]
        return _lowered(card, F.scaled_dot_product_attention, *heads)
    if case.name == "convolution/fp16":
        image = _empty(64, 256, 56, 56, dtype=torch.float16)
        weight = _empty(256, 256, 3, 3, dtype=torch.float16)
        last = [t.to(memory_format=torch.channels_last) for t in (image, weight)]
        return _lowered(card, lambda x, w: F.conv2d(x, w, padding=1), *last)
    if case.name == "layer_norm/bf16":
        return _lowered(card, lambda x: F.layer_norm(x, (1024,)), rows)
    if case.name == "softmax/bf16":
        return _lowered(card, lambda x: F.softmax(x, 1), rows)
    if case.name == "sum/1024MiB":
        return _lowered(card, torch.sum, _empty(2**18, 1024, dtype=torch.float32))
    if case.name == "gelu/bf16":
        return _lowered(card, F.gelu, rows)
    work: dict[str, float] = {"launch": case.work.get("launches", 0.0)}
    for name, amount in case.work.items():
        if name.startswith("tensor_flops_"):
            work[f"tensor_{name.removeprefix('tensor_flops_')}"] = amount
            work["computing_s"] = amount / _TENSOR_FLOPS_PER_S[name.removeprefix("tensor_flops_")]
        elif name == "vector_flops_fp32" and case.name.startswith("chain"):
            work["instruction"] = amount / 2
        elif name == "vector_flops_fp32":
            work["vector_fp32"] = amount
        elif name in ("l2_bytes", "dram_bytes"):
            work["l2_byte"] = work.get("l2_byte", 0.0) + amount
            if name == "dram_bytes" and "4096" not in case.name:  # these stay in L2
                work["dram_byte"] = amount
    return work
