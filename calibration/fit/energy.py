"""Fit what work costs in energy on a card, from kernels alone and mixtures of them.

`python -m calibration.fit.energy h200_sxm` writes `simulator/profiles/energy/h200_sxm.json` from
the card's `energy.jsonl.gz`. Whole steps are not fitted: they show how good the fit is.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.optimize import least_squares
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
from simulator.timing.energies import FOLDER, Energies, computing, features, lanes_per_s
from simulator.timing.profile import learned
from simulator.timing.rates import l2_kept_bytes
from simulator.timing.roofline import roofs

Floats = NDArray[np.float64]
_BURST_S = 0.05
"""How long a card runs above its limit after a pause: its power is averaged over as long."""


@dataclass(frozen=True)
class Measured:
    """A case of `calibration.measure.energy`: seconds and mean watts of an iteration, sustained,
    and `burst_s` before the limit held. `work` is that of an iteration."""

    name: str
    seconds: float
    burst_s: float
    watts: float
    clock_hz: float
    limited: bool
    work: Mapping[str, float]
    step: Mapping[str, Any] | None
    host_reference_s: float | None = None


def measured(card: str) -> tuple[float, list[Measured]]:
    """Watts at rest with a context open, and every case of a card."""
    with gzip.open(MEASUREMENTS / card / "energy.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rest_w = next(row["power_w"] for row in rows if row.get("name") == "rest")
    cases = [
        Measured(
            row["name"],
            row["sustained_s"],
            _burst_s(row["chunks"]) or row["sustained_s"],
            row["power_w"],
            row["clock_hz"],
            4 in row["reasons"],
            row["work"],
            row["step"],
            row.get("host_reference_s"),
        )
        for row in rows
        if "sustained_s" in row
    ]
    return rest_w, cases


def _burst_s(chunks: Sequence[tuple[float, int]]) -> float | None:
    """Seconds an iteration over the first chunks; None where one takes longer than the limit."""
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
    total = _total(lowered.works, lowered.work_of, gpu)
    total["dram_byte"] = total["l2_byte"]
    return total


def _total(works: Sequence[Work], work_of: NDArray[np.int64], gpu: GPU) -> dict[str, float]:
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


def predicted(case: Measured, card: str) -> Prediction:
    """A whole step that was measured, as it is predicted."""
    assert case.step is not None
    asked = {name: case.step[name] for name in ("network", "batch", "optimizer", "sizes")}
    return predict(
        Scenario(
            **asked,
            seq=case.step["seq"] or None,
            dtype=case.step["precision"],
            gpu=card,
            training=case.step["phase"] == "training",
        )
    )


def _of_step(case: Measured, card: str) -> dict[str, float]:
    p = predicted(case, card)
    total = _total(p.works, p.columns.work_of, p.gpu)
    hot = issued(p.trace, p.gpu).hot_share(l2_kept_bytes(p.gpu, learned(card)))
    moved = np.array([work.bytes for work in p.works], float)[p.columns.work_of]
    return {**total, "dram_byte": float(moved @ (1 - hot))}


def _empty(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


def work_of(case: Measured, card: str) -> dict[str, float]:
    """The work of an iteration, as the simulator counts it: by `features`, and `dram_byte`."""
    rows = _empty(2**18, 1024)
    if case.step:
        return _of_step(case, card)
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
    found: dict[str, float] = {"launch": case.work.get("launches", 0.0)}
    for name, amount in case.work.items():
        if name.startswith("tensor_flops_"):
            found[f"tensor_{name.removeprefix('tensor_flops_')}"] = amount
            found["computing_s"] = amount / _TENSOR_FLOPS_PER_S[name.removeprefix("tensor_flops_")]
        elif name == "vector_flops_fp32" and case.name.startswith("chain"):
            found["instruction"] = amount / 2
        elif name == "vector_flops_fp32":
            found["vector_fp32"] = amount
        elif name in ("l2_bytes", "dram_bytes"):
            found["l2_byte"] = found.get("l2_byte", 0.0) + amount
            if name == "dram_bytes" and "4096" not in case.name:  # which stay in L2
                found["dram_byte"] = amount
    return found


_LEFT_OUT = ("product/bf16/8192x8192x8192/zeros", "mixture/by_turns", "chain/exponentials")
"""What networks do not do: zeros draw less, and special units alone, too."""
_TENSOR_FLOPS_PER_S = {"bf16": 8e14, "fp16": 7.7e14, "tf32": 4e14, "fp8": 1.4e15}
"""Of large products, before the limit holds."""
PICOJOULES = {
    "computing_s": 1e14,
    "tensor_bf16": 1.0, "tensor_fp16": 1.1, "tensor_tf32": 2.0, "tensor_fp8": 0.6,
    "vector_fp32": 11.0, "instruction": 8.0, "l2_byte": 30.0, "dram_byte": 80.0, "launch": 1e7,
}  # fmt: skip
"""Where the search begins."""
IDLE_W = 75.0
"""Without a process: 74 to 76 W in public listings of nvidia-smi of H200s, 64 of an H100."""
RANDOM = "random"
"""How many times as much a product of independent random numbers takes as one of a network's."""
WITH_STEPS = "h200_sxm"
"""Whose whole steps are in the fit; those of other cards are held out."""
INTERVAL = (0.88, 1.14)
"""Of the measured joules of a step over the predicted: eight steps lie within 0.94 and 1.12, and
eight are few."""
VOLTS = ((0.15, 0.7), (0.35, 0.73), (1.0, 1.0))
SPEEDS = ((0.0, 0.0), (0.75, 0.84), (0.88, 0.93), (1.0, 1.0))


def _weight(case: Measured) -> float:
    """A step is what is asked for, with data of its own; a copy in a graph is no kernel's, but one
    of the driver's, which moves two thirds of what kernels do."""
    if case.step or case.name == "sum/1024MiB":  # the one kernel that DRAM alone rules
        return 2.0
    return 0.3 if "copy" in case.name and "8MiB" not in case.name else 1.0


def clock_of(case: Measured) -> float:
    """The clock of a limited case that computes on tensor cores, from its own slowing: readings
    of the clock are seldom taken and lag."""
    tensor = any(name.startswith("tensor") for name in case.work)
    if not case.limited:
        return 1.0
    if case.step:
        return case.clock_hz / 1.98e9
    speed = min(1.0, case.burst_s / case.seconds)
    clock, speeds = np.array(SPEEDS).T
    return float(np.interp(speed, speeds, clock)) if tensor else speed


def fit(
    card: str, with_steps: bool, start: Mapping[str, float]
) -> tuple[Energies, list[tuple[str, float, float]], dict[str, float]]:
    """The energies of a card, and each kernel's watts, measured and as the fit has them."""
    rest_w, cases = measured(card)
    cases = [c for c in cases if c.name not in _LEFT_OUT and (with_steps or not c.step)]
    works = [work_of(case, card) for case in cases]
    names = list(PICOJOULES)
    amounts = np.array([[work.get(n, 0.0) for n in names] for work in works])
    tensor = np.array([name.startswith("tensor") for name in names])
    random = np.outer([not case.step for case in cases], tensor)
    seconds = np.array([case.seconds for case in cases])
    watts = np.array([case.watts for case in cases])
    at, volts = np.array(VOLTS).T
    clocks = np.array([clock_of(case) for case in cases])
    squared = np.interp(clocks, at, volts) ** 2
    scaled = np.where(np.array(names) == "dram_byte", 1.0, squared[:, None])

    def drawn(logs: Floats) -> Floats:
        busy_w, each = np.exp(logs[0]), np.exp(logs[1:-1]) * 1e-12
        toggling = 1 + (np.exp(logs[-1]) - 1) * random
        idle = IDLE_W + (rest_w - IDLE_W) * squared * clocks
        return idle + busy_w * squared + (amounts * toggling * scaled / seconds[:, None]) @ each

    weight = np.array([_weight(case) for case in cases])
    known = () if with_steps else ("computing_s", RANDOM)
    begin = np.log([5.0, *(start[name] for name in (*names, RANDOM))])
    prior = np.array([0.03, *(1.0 if name in known else 0.03 for name in (*names, RANDOM))])

    def off(logs: Floats) -> Floats:
        return np.append(weight * np.log(drawn(logs) / watts), prior * (logs - begin))

    found = least_squares(off, begin, loss="soft_l1", f_scale=0.05).x
    each = dict(zip((*names, RANDOM), (np.exp(found[1:]) * 1e-12).tolist(), strict=True))
    limited = [case.watts for case in cases if case.limited]
    with gzip.open(MEASUREMENTS / card / "energy.jsonl.gz", "rt", encoding="utf-8") as file:
        machine = json.loads(file.readline())["machine"]
    by_dtype = {n.removeprefix("tensor_"): j for n, j in each.items() if n.startswith("tensor_")}
    result = Energies(
        gpu=card,
        source="calibration/measurements: kernels alone and mixtures, 2 s each",
        clock_hz=machine["highest_clock_hz"],
        idle_w=IDLE_W,
        clocked_w=rest_w - IDLE_W,
        busy_w=float(np.exp(found[0])),
        tensor_w=each["computing_s"],
        tensor_j_per_flop={
            **by_dtype,
            "int8": by_dtype["fp8"],
            "fp64": 10 * by_dtype["tf32"],
        },
        vector_j_per_flop={"fp32": each["vector_fp32"], "fp64": 2 * each["vector_fp32"]},
        instruction_j=each["instruction"],
        l2_j_per_byte=each["l2_byte"],
        dram_j_per_byte=each["dram_byte"],
        launch_j=each["launch"],
        volts=VOLTS,
        speeds=SPEEDS,
        held=float(np.median(limited)) / machine["limit_w"],
        interval=INTERVAL,
    )
    said = drawn(found).tolist()
    rows = [(c.name, c.watts, w) for c, w in zip(cases, said, strict=True)]
    return result, rows, {name: joules * 1e12 for name, joules in each.items()}


def main() -> None:
    """Fit the cards that are named, or all that were measured."""
    cards = sorted(p.parent.name for p in MEASUREMENTS.glob("*/energy.jsonl.gz"))
    start: Mapping[str, float] = {**PICOJOULES, RANDOM: 1.0}
    for card in sorted(cards, key=lambda name: name != WITH_STEPS):
        result, rows, found = fit(card, card == WITH_STEPS, start)
        start = found
        for name, was, said in rows:
            print(f"{name:45} {was:6.0f} W measured, {said:6.0f} W fitted ({said / was - 1:+.0%})")
        text = msgspec.json.format(msgspec.json.encode(result), indent=1)
        (FOLDER / f"{card}.json").write_bytes(text + b"\n")
        print(
            found["random"],
            {k: getattr(result, k) for k in result.__struct_fields__ if k != "source"},
        )


if __name__ == "__main__":
    main()
