"""Fit what work costs in energy on a card, from kernels alone and mixtures of them.

`python -m calibration.fit_energy h200_sxm` writes `simulator/profiles/energy/h200_sxm.json` from
the card's `energy.jsonl.gz`. Whole steps are not fitted: they show how good the fit is.
"""

from __future__ import annotations

import gzip
import json
import sys
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

from calibration.recordings import MEASUREMENTS
from simulator import trace as traced
from simulator.energies import FOLDER, Energies, features, is_issuing, lanes_per_s
from simulator.hardware import gpu as find_gpu
from simulator.lowering import lower
from simulator.profiles import learned
from simulator.roofline import roofs

Floats = NDArray[np.float64]
_BURST_S = 0.05
"""How long a card runs above its limit after a pause: its power is averaged over as long."""


@dataclass(frozen=True)
class Measured:
    """A case of `calibration.energy`: seconds and mean watts of an iteration, sustained, and
    `burst_s` before the limit held. `work` is that of an iteration."""

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
            row["name"], row["sustained_s"], _burst_s(row["chunks"]) or row["sustained_s"],
            row["power_w"], row["clock_hz"], 4 in row["reasons"], row["work"], row["step"],
            row.get("host_reference_s"),
        )
        for row in rows if "sustained_s" in row
    ]  # fmt: skip
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
    total: dict[str, float] = {}
    table = roofs(lowered.works, gpu, learned(card))
    for row in lowered.work_of.tolist():
        work = lowered.works[row]
        amounts = features(work, gpu)
        if is_issuing(work):
            amounts["instruction"] = float(table.compute_s[row]) * lanes_per_s(gpu)
        for name, amount in amounts.items():
            total[name] = total.get(name, 0.0) + float(amount)
    total["dram_byte"] = total["l2_byte"]
    return total


def _empty(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


def work_of(case: Measured, card: str) -> dict[str, float]:
    """The work of an iteration, as the simulator counts it: by `features`, and `dram_byte`."""
    rows = _empty(2**18, 1024)
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
    if case.name == "gelu/bf16":
        return _lowered(card, F.gelu, rows)
    found: dict[str, float] = {"launch": case.work.get("launches", 0.0)}
    for name, amount in case.work.items():
        if name.startswith("tensor_flops_"):
            found[f"tensor_{name.removeprefix('tensor_flops_')}"] = amount
        elif name == "vector_flops_fp32" and case.name.startswith("chain"):
            found["instruction"] = amount / 2
        elif name == "vector_flops_fp32":
            found["vector_fp32"] = amount
        elif name in ("l2_bytes", "dram_bytes"):
            found["l2_byte"] = found.get("l2_byte", 0.0) + amount
            if name == "dram_bytes":
                found["dram_byte"] = amount
    return found


_LEFT_OUT = ("product/bf16/8192x8192x8192/zeros", "mixture/by_turns", "chain/exponentials")
"""What networks do not do: zeros draw less, and special units alone, too."""
PICOJOULES = {
    "tensor_bf16": 1.0, "tensor_fp16": 1.1, "tensor_tf32": 2.0, "tensor_fp8": 0.6,
    "vector_fp32": 11.0, "instruction": 8.0, "l2_byte": 30.0, "dram_byte": 80.0, "launch": 1e7,
}  # fmt: skip
"""Where the search begins."""
VOLTS = ((0.15, 0.7), (0.35, 0.73), (1.0, 1.0))
SPEEDS = ((0.0, 0.0), (0.75, 0.84), (0.88, 0.93), (1.0, 1.0))


def clock_of(case: Measured) -> float:
    """The clock of a limited case that computes on tensor cores, from its own slowing: readings
    of the clock are seldom taken and lag."""
    tensor = any(name.startswith("tensor") for name in case.work)
    if not case.limited:
        return 1.0
    speed = min(1.0, case.burst_s / case.seconds)
    clock, speeds = np.array(SPEEDS).T
    return float(np.interp(speed, speeds, clock)) if tensor else speed


def fit(card: str) -> tuple[Energies, list[tuple[str, float, float]]]:
    """The energies of a card, and each kernel's watts, measured and as the fit has them."""
    rest_w, cases = measured(card)
    cases = [case for case in cases if not case.step and case.name not in _LEFT_OUT]
    works = [work_of(case, card) for case in cases]
    names = list(PICOJOULES)
    amounts = np.array([[work.get(n, 0.0) for n in names] for work in works])
    seconds = np.array([case.seconds for case in cases])
    watts = np.array([case.watts for case in cases])
    at, volts = np.array(VOLTS).T
    squared = np.interp([clock_of(case) for case in cases], at, volts) ** 2
    scaled = np.where(np.array(names) == "dram_byte", 1.0, squared[:, None])

    def drawn(logs: Floats) -> Floats:
        busy_w, each = np.exp(logs[0]), np.exp(logs[1:]) * 1e-12
        return rest_w + busy_w * squared + (amounts * scaled / seconds[:, None]) @ each

    start = np.log([5.0, *PICOJOULES.values()])

    def off(logs: Floats) -> Floats:
        return np.append(np.log(drawn(logs) / watts), 0.03 * (logs - start))

    found = least_squares(off, start, loss="soft_l1", f_scale=0.05).x
    each = dict(zip(names, (np.exp(found[1:]) * 1e-12).tolist(), strict=True))
    limited = [case.watts for case in cases if case.limited]
    with gzip.open(MEASUREMENTS / card / "energy.jsonl.gz", "rt", encoding="utf-8") as file:
        machine = json.loads(file.readline())["machine"]
    tensor = {n.removeprefix("tensor_"): j for n, j in each.items() if n.startswith("tensor_")}
    result = Energies(
        gpu=card, source="calibration/measurements: kernels alone and mixtures, 2 s each",
        clock_hz=machine["highest_clock_hz"], idle_w=rest_w, busy_w=float(np.exp(found[0])),
        tensor_j_per_flop={**tensor, "int8": tensor["fp8"], "fp64": 10 * tensor["tf32"]},
        vector_j_per_flop={"fp32": each["vector_fp32"], "fp64": 2 * each["vector_fp32"]},
        instruction_j=each["instruction"], l2_j_per_byte=each["l2_byte"],
        dram_j_per_byte=each["dram_byte"], launch_j=each["launch"], volts=VOLTS, speeds=SPEEDS,
        held=float(np.median(limited)) / machine["limit_w"], interval=(0.85, 1.15),
    )  # fmt: skip
    said = drawn(found).tolist()
    return result, [(c.name, c.watts, w) for c, w in zip(cases, said, strict=True)]


def main() -> None:
    """Fit the cards that are named, or all that were measured."""
    cards = sys.argv[1:] or [p.parent.name for p in MEASUREMENTS.glob("*/energy.jsonl.gz")]
    for card in cards:
        result, rows = fit(card)
        for name, was, said in rows:
            print(f"{name:45} {was:6.0f} W measured, {said:6.0f} W fitted ({said / was - 1:+.0%})")
        text = msgspec.json.format(msgspec.json.encode(result), indent=1)
        (FOLDER / f"{card}.json").write_bytes(text + b"\n")
        print({k: getattr(result, k) for k in result.__struct_fields__ if k != "source"})


if __name__ == "__main__":
    main()
