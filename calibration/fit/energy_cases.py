"""The work of the measured cases of a card's energy, as the simulator counts it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from calibration.cases.energy.kernels import cosines_of
from calibration.record.sustained import EnergyCase
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator import trace as traced
from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.schedule.launch_plan import issued
from simulator.timing.energies import computing, features, filled, lanes_per_s
from simulator.timing.profile import learned
from simulator.timing.rates import l2_kept_bytes
from simulator.timing.roofline import roofs

_TENSOR_FLOPS_PER_S = {"bf16": 8e14, "fp16": 7.7e14, "tf32": 4e14, "fp8": 1.4e15}
"""The clock of large products before the power limit applies, as a share of the highest clock."""


class _Call(nn.Module):
    def __init__(self, call: Any) -> None:
        super().__init__()
        self.call = call

    def forward(self, *inputs: Any) -> Any:
        return self.call(*inputs)


def _lowered(card: str, call: Any, *inputs: torch.Tensor, mode: str = "eager") -> dict[str, float]:
    p = predict_trace(traced(_Call(call), inputs, gpu=card), gpu=card, mode=mode)
    total = _total_work(p.works, p.columns.work_of, p.gpu)
    total["dram_byte"] = total["l2_byte"]
    return total


def _total_work(works: Sequence[Work], work_of: NDArray[np.int64], gpu: GPU) -> dict[str, float]:
    table = roofs(works, gpu, learned(gpu.id))
    total: dict[str, float] = {}
    for work, count, compute_s in zip(
        works, np.bincount(work_of, minlength=len(works)), table.compute_s, strict=True
    ):
        amounts = features(work, gpu)
        if computing(work) == "lanes":
            amounts["lane_clock"] = float(compute_s) * lanes_per_s(gpu)
        if computing(work) == "tensor":
            amounts["computing_s"] = float(compute_s) * filled(work)
        for name, amount in amounts.items():
            total[name] = total.get(name, 0.0) + float(amount) * int(count)
    return total


def _step_work(case: EnergyCase, card: str) -> dict[str, float]:
    assert case.step is not None
    trace = retrace(dict(case.step), case.mode)
    p = predict_trace(trace, gpu=card, mode=case.mode)
    total = _total_work(p.works, p.columns.work_of, p.gpu)
    hot = issued(p.trace, p.gpu).hot_share(l2_kept_bytes(p.gpu, learned(card)))
    moved = np.array([work.bytes for work in p.works], float)[p.columns.work_of]
    return {**total, "dram_byte": float(moved @ (1 - hot))}


def _empty(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


_HALF, _SINGLE = (2**18, 1024), torch.float32
ROWS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], torch.Tensor]] = {
    "layer_norm/bf16": (lambda x: F.layer_norm(x, (1024,)), _empty(*_HALF)),
    "layer_norm/fp32": (lambda x: F.layer_norm(x, (1024,)), _empty(*_HALF, dtype=_SINGLE)),
    "softmax/bf16": (lambda x: F.softmax(x, 1), _empty(*_HALF)),
    "gelu/bf16": (F.gelu, _empty(*_HALF)),
    "cosine/bf16": (torch.cos, _empty(*_HALF)),
    "cosine/fp32": (torch.cos, _empty(*_HALF, dtype=_SINGLE)),
    "cosine/8MiB": (torch.cos, _empty(2**11, 1024, dtype=_SINGLE)),
    "exponential/fp32": (torch.exp, _empty(*_HALF, dtype=_SINGLE)),
    "relu/bf16": (torch.relu, _empty(*_HALF)),
    "relu/fp32": (torch.relu, _empty(*_HALF, dtype=_SINGLE)),
    "sum/256MiB": (torch.sum, _empty(2**16, 1024, dtype=_SINGLE)),
    "sum/1024MiB": (torch.sum, _empty(*_HALF, dtype=_SINGLE)),
}
"""The kernel cases with one operand: the function to call, and the matrix to call it with."""
_IN_L2 = ("bf16/4096x4096x4096", "bf16/2048x2048x2048", "/8MiB")
"""Parts of the names of cases whose operands stay in L2."""


def work_of(case: EnergyCase, card: str) -> dict[str, float]:
    """The work of an iteration, as the simulator counts it: by `features`, and `dram_byte`."""
    if case.step:
        return _step_work(case, card)
    if case.name == "attention/bf16":
        heads = [_empty(8, 32, 4096, 128) for _ in range(3)]
        return _lowered(card, F.scaled_dot_product_attention, *heads)
    if case.name == "attention/decode":
        heads = [_empty(64, n, tokens, 128) for n, tokens in ((32, 1), (8, 1024), (8, 1024))]
        return _lowered(card, partial(F.scaled_dot_product_attention, enable_gqa=True), *heads)
    if case.name.startswith("cosines/"):
        x = _empty(2**26, dtype=_SINGLE)
        count = int(case.name.removeprefix("cosines/"))
        return _lowered(card, partial(cosines_of, count=count), x, mode="compiled")
    if case.name == "convolution/fp16":
        image = _empty(64, 256, 56, 56, dtype=torch.float16)
        weight = _empty(256, 256, 3, 3, dtype=torch.float16)
        last = [t.to(memory_format=torch.channels_last) for t in (image, weight)]
        return _lowered(card, partial(F.conv2d, padding=1), *last)
    in_l2 = any(part in case.name for part in _IN_L2)
    if case.name in ROWS:
        work = _lowered(card, *ROWS[case.name])
        return {**work, "dram_byte": 0.0} if in_l2 else work
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
            if name == "dram_bytes" and not in_l2:
                work["dram_byte"] = amount
    return work
