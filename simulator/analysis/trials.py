"""The what-ifs that advice tries, and why each may help: the checklist of the essay "Making Deep
Learning Go Brrrr From First Principles".

Overhead: take the host out (tracing, graphs, a larger batch). Memory: move fewer bytes (fuse,
narrower types). Compute: use the tensor cores, a lower precision, better shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from simulator.prediction import REGIMES, Prediction, Regime
from simulator.timing.rates import roof_flops_per_s

Changes = Literal["code", "machine", "what is computed"]
By = Literal["time", "memory", "money"]


@dataclass(frozen=True)
class Trial:
    """A what-if to try. `text` is the what-if as a command writes it; `aims` are the regimes that
    it reduces (any if empty), and `how` explains how. `changes` is what has to change: the code,
    the machine, or what is computed (results then differ). It is tried on networks of `dtypes` (of
    every dtype if empty)."""

    text: str
    aims: tuple[Regime, ...]
    how: str
    changes: Changes
    dtypes: tuple[str, ...] = ()

    def cause(self, base: Prediction, p: Prediction, by: By = "time") -> str:
        """Why the what-if helps, in one sentence about the step: the regime (or the kind of memory)
        that it reduces most, and how it does so."""
        if by == "memory":
            return self._less_memory(base, p)
        regime = _relieved(base, p)
        name = "memory bandwidth" if regime == "memory" else regime
        first = f"{name} is {base.shares[regime]:.0%} of the step: "
        if self.text.startswith("+gpu="):
            return first + (_against(base, p, regime) or _moved(base, p, regime))
        if not self.aims or regime in self.aims:
            return first + self.how
        if regime == "overhead" and not _launches_saved(base, p):
            return f"{_shrunk(base, p)}: {self.how}"
        return first + _moved(base, p, regime)

    def _less_memory(self, base: Prediction, p: Prediction) -> str:
        before, after = base.memory.at_peak, p.memory.at_peak
        most = max(before, key=lambda role: before[role] - after.get(role, 0), default=None)
        if most is None:
            return self.how
        share = before[most] / base.peak_memory_bytes
        return f"{_HELD.get(most, most)} hold {share:.0%} of the peak: {self.how}"


_HELD = {
    "weight": "weights", "buffer": "buffers", "input": "inputs", "activation": "activations",
    "gradient": "gradients", "optimizer": "optimizer states",
}  # fmt: skip


def _relieved(base: Prediction, changed: Prediction) -> Regime:
    """The regime whose time per sample falls most."""
    one, other = (p.period_s / max(p.trace.samples, 1) for p in (base, changed))
    return max(REGIMES, key=lambda r: base.shares[r] * one - changed.shares[r] * other)


def _against(base: Prediction, p: Prediction, regime: Regime) -> str:
    """The advantages of another card that reduce the regime's time, or an empty string."""
    old, new = base.gpu, p.gpu
    each = np.bincount(base.columns.work_of, base.columns.compute_s, len(base.works))
    work = base.works[int(each.argmax())] if each.size else None
    refusals: dict[str, str] = {}
    wide = new.bandwidth_bytes_per_s / old.bandwidth_bytes_per_s
    if wide > 1:
        refusals["memory"] = f"{wide:.2g}× the bandwidth"
    elif regime == "memory" and old.l2_bytes and new.l2_bytes and new.l2_bytes > old.l2_bytes:
        refusals["memory"] = f"{new.l2_bytes / old.l2_bytes:.2g}× the L2 cache"
    if work is not None:
        peaks = [roof_flops_per_s(card, work) for card in (new, old)]
        if peaks[0] > peaks[1]:
            engine = "tensor" if work.engine == "tensor" else "vector"
            times = peaks[0] / peaks[1]
            refusals["compute"] = f"{times:.2g}× the {engine} peak in {work.dtype}"
    if regime not in refusals:
        return ""
    parts = [refusals[regime], *(text for name, text in refusals.items() if name != regime)]
    return f"{new.name} has {' and '.join(parts)}"


def _moved(base: Prediction, p: Prediction, regime: Regime) -> str:
    """What a sample needs less of: launches, host work, or the time of a family of kernels."""
    saved = _launches_saved(base, p) if regime == "overhead" else ""
    return saved or _shrunk(base, p)


def _launches_saved(base: Prediction, changed: Prediction) -> str:
    """The reduction in launches or host work per sample, or an empty string."""
    for unit, figures in (
        ("fewer launches", [p.kernel_count / max(p.trace.samples, 1) for p in (base, changed)]),
        ("less host work", [p.host_s / max(p.trace.samples, 1) for p in (base, changed)]),
    ):
        if figures[1] < figures[0] * 0.99:
            return f"{1 - figures[1] / figures[0]:.0%} {unit}"
    return ""


def _shrunk(base: Prediction, changed: Prediction) -> str:
    """The family of kernels whose time per sample falls most."""
    one, other = (_by_family(p) for p in (base, changed))
    most = max(one, key=lambda family: one[family] - other.get(family, 0.0), default="")
    saved = 1 - other.get(most, 0.0) / one[most] if most and one[most] else 0.0
    if saved >= 1:
        return f"no {most} kernel is left"
    return f"{most} kernels take {saved:.0%} less time" if saved > 0 else "kernels start sooner"


def _by_family(p: Prediction) -> dict[str, float]:
    """Seconds per sample of the kernels of each family."""
    each = np.bincount(p.columns.work_of, p.columns.duration_s, len(p.works))
    each /= max(p.trace.samples, 1)
    seconds_of: dict[str, float] = {}
    for work, seconds in zip(p.works, each.tolist(), strict=True):
        seconds_of[work.family] = seconds_of.get(work.family, 0.0) + seconds
    return seconds_of


_CARDS = ("a100_sxm_80", "b200_sxm", "h100_sxm", "h200_sxm", "l40s", "mi300x", "rtx4090")
_WIDE = ("fp32",)
_WIDER = ("fp32", "autocast", "autocast-fp16")

TRIALS: tuple[Trial, ...] = (
    Trial("+cuda_graph", ("overhead",), "a graph replays all launches at once", "code"),
    Trial("+fusion=compiled", ("overhead", "memory"),
          "torch.compile fuses loops and issues them without Python", "code"),
    Trial("+fused_experts", ("overhead", "memory"),
          "serving engines route, multiply and add up experts in six launches", "code"),
    Trial("+no_python", ("overhead",), "tracing the step takes Python out of it", "code"),
    Trial("+no_syncs", ("overhead",), "without waits within a step the host runs ahead", "code"),
    Trial("+optimizer=adamw_fused", ("memory",), "one pass over weights and their state", "code"),
    Trial("+accumulate=4", (), "four forward passes share the optimizer's step", "code"),
    Trial("+host_speed=2", ("overhead",), "a host twice as fast issues twice as much", "machine"),
    Trial("+launch_cost=0.5", ("overhead",), "launches cost half as much", "machine"),
    Trial("+launch_latency=2.5", ("overhead",), "launches arrive sooner", "machine"),
    Trial("+queue_depth=4096", ("overhead",), "a longer queue lets the host run ahead", "machine"),
    Trial("+precision=tf32", ("compute",), "float32 products on tensor cores", "what is computed",
          _WIDE),
    Trial("+precision=autocast", ("compute",), "products in bf16 on tensor cores",
          "what is computed", _WIDE),
    Trial("+precision=bf16", ("compute", "memory"), "tensor cores, and half the bytes",
          "what is computed", _WIDER),
    Trial("+precision=fp16", ("compute", "memory"), "tensor cores, and half the bytes",
          "what is computed", _WIDER),
    Trial("+fp8", ("compute",), "tensor cores have a higher peak in float8", "what is computed"),
    Trial("+nvfp4", ("compute",), "tensor cores have a higher peak in 4 bits", "what is computed"),
    Trial("+sdpa=cudnn", ("compute",), "attention in one cuDNN kernel", "code"),
    Trial("+sdpa=flash", ("compute",), "attention in one kernel on tensor cores", "code"),
    Trial("+sdpa=efficient", ("compute",), "attention in one kernel", "code"),
    Trial("+tensor_peak=2", ("compute",), "tensor cores twice as fast", "machine"),
    Trial("+vector_peak=2", ("compute",), "vector units twice as fast", "machine"),
    Trial("+sustained_clock=1.1", ("compute",), "a higher clock", "machine"),
    Trial("+weights=int8", ("memory",), "weights are read as 8-bit values", "what is computed"),
    Trial("+weights=int4", ("memory",), "weights are read as 4-bit values", "what is computed"),
    Trial("+kv_cache=fp8", ("memory",), "the cache is read as 8-bit values", "what is computed"),
    Trial("+bandwidth=2", ("memory",), "DRAM twice as fast", "machine"),
    Trial("+l2=4", ("memory",), "more of the data just written is read from L2", "machine"),
    Trial("+l2_bandwidth=2", ("memory",), "data in L2 is read twice as fast", "machine"),
    Trial("+recompute", (), "blocks that run again need not store their activations", "code"),
    Trial("+optimizer=sgd", ("memory",), "SGD keeps and reads half of AdamW's state",
          "what is computed"),
    *(Trial(f"+gpu={name}", (), "", "machine") for name in _CARDS),
)  # fmt: skip

UNTRIED = {
    "batch": "tried at two and four times its value",
    "seq": "a different question", "size": "another network", "network": "another network",
    "compiled_optimizer": "optimizer=adamw_fused does the same without a compiler",
    "training": "a different question", "freeze": "a different question",
    "remove": "the user must choose the op",
    "fuse": "tried on the adjacent ops that save the most time (simulator.analysis.fusible)",
    "utilisation": "it concerns a kernel that does not exist yet",
    "mode": "tried as cuda_graph and as fusion",
    "host": "only one host is known; tried as host_speed",
    "memory": "the size of memory does not change the time; use seek to find what fits",
    "rate": "the shares show its effect",
    "power_limit": "a lower limit makes nothing faster", "figure": "the figures are tried by name",
}  # fmt: skip
"""What-ifs that advice leaves out, each with its reason."""
