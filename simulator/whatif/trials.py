"""What advice tries, and why each may help: the checklist of the essay.

Overhead: take the host out (tracing, graphs, a larger batch). Memory: move fewer bytes (fuse,
narrower types). Compute: use the tensor cores, a lower precision, better shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from simulator.hardware import GPU
from simulator.prediction import Prediction

Changes = Literal["code", "machine", "what is computed"]
Aim = Literal["compute", "memory", "overhead", "room", "hardware", "shared"]


@dataclass(frozen=True)
class Trial:
    """A what-if to try, as a command writes it; what it attacks, and how; what has to change for
    it: the code that runs, the machine, or what is computed (other numbers come out). `dtypes`
    are those of a network that it is tried on (all of them where there is none)."""

    text: str
    aim: Aim
    how: str
    changes: Changes
    dtypes: tuple[str, ...] = ()

    def cause(self, base: Prediction, found: Prediction) -> str:
        """Why it helps, in one sentence about the shares of the step that it is tried on."""
        if self.aim == "room":
            held = base.memory.at_peak
            most = max(held, key=lambda role: held[role]) if held else "no"
            return f"most of the peak is {most} memory: {self.how}"
        if self.aim == "hardware":
            return f"the step is {base.regime}-bound: {_against(base.gpu, found.gpu)}"
        if self.aim == "shared":  # by more samples: of what is not compute, what there is more of
            name = "overhead" if base.shares["overhead"] >= base.shares["memory"] else "memory"
            return replace(self, aim=name).cause(base, found)
        fewer = base.kernel_count - found.kernel_count
        less = base.host_s - found.host_s
        if base.shares[self.aim] < _LITTLE and base.regime == "overhead" and less > 0:
            what = f"{less / base.host_s:.0%} less host work"
            if fewer > 0:
                what = f"{fewer} fewer launches"
            return f"overhead is {base.shares['overhead']:.0%} of the step: {what}"
        name = "memory bandwidth" if self.aim == "memory" else self.aim
        return f"{name} is {base.shares[self.aim]:.0%} of the step: {self.how}"


def _against(old: GPU, new: GPU) -> str:
    bandwidth = new.bandwidth_bytes_per_s / old.bandwidth_bytes_per_s
    peaks = [(new.peak("tensor", d), old.peak("tensor", d)) for d in ("fp16", "bf16")]
    peak = next((n / o for n, o in peaks if n and o), None)
    more = f" and {peak:.2g}× the tensor peak" if peak else ""
    return f"{new.name} has {bandwidth:.2g}× the bandwidth{more}"


_LITTLE = 0.05
_CARDS = ("a100_sxm_80", "b200_sxm", "h100_sxm", "h200_sxm", "l40s", "mi300x", "rtx4090")
_WIDE = ("fp32",)
_WIDER = ("fp32", "autocast", "autocast-fp16")

TRIALS: tuple[Trial, ...] = (
    Trial("+cuda_graph", "overhead", "a graph replays all launches at once", "code"),
    Trial("+no_python", "overhead", "tracing the step takes Python out of it", "code"),
    Trial("+no_syncs", "overhead", "without waits within a step the host runs ahead", "code"),
    Trial("+optimizer=adamw_fused", "memory", "one pass over weights and their state", "code"),
    Trial("+accumulate=4", "shared", "four forwards share the optimizer's step", "code"),
    Trial("+host_speed=2", "overhead", "a host twice as fast issues twice as much", "machine"),
    Trial("+launch_cost=0.5", "overhead", "launches cost half as much", "machine"),
    Trial("+launch_latency=2.5", "overhead", "launches arrive sooner", "machine"),
    Trial("+queue_depth=4096", "overhead", "a longer queue lets the host run ahead", "machine"),
    Trial("+precision=tf32", "compute", "float32 products on tensor cores", "what is computed",
          _WIDE),
    Trial("+precision=autocast", "compute", "products in bf16 on tensor cores",
          "what is computed", _WIDE),
    Trial("+precision=bf16", "compute", "tensor cores, and half the bytes", "what is computed",
          _WIDER),
    Trial("+precision=fp16", "compute", "tensor cores, and half the bytes", "what is computed",
          _WIDER),
    Trial("+fp8", "compute", "tensor cores have a higher peak in float8", "what is computed"),
    Trial("+sdpa=cudnn", "compute", "attention in one kernel of cuDNN", "code"),
    Trial("+sdpa=flash", "compute", "attention in one kernel on tensor cores", "code"),
    Trial("+sdpa=efficient", "compute", "attention in one kernel", "code"),
    Trial("+tensor_peak=2", "compute", "tensor cores twice as fast", "machine"),
    Trial("+vector_peak=2", "compute", "vector units twice as fast", "machine"),
    Trial("+sustained_clock=1.1", "compute", "a higher power cap leaves more clock", "machine"),
    Trial("+weights=int8", "memory", "weights are read in 8 bits", "what is computed"),
    Trial("+weights=int4", "memory", "weights are read in 4 bits", "what is computed"),
    Trial("+kv_cache=fp8", "memory", "the cache is read in 8 bits", "what is computed"),
    Trial("+bandwidth=2", "memory", "DRAM twice as fast", "machine"),
    Trial("+l2=4", "memory", "more of what was just written is read from L2", "machine"),
    Trial("+l2_bandwidth=2", "memory", "what is in L2 is read twice as fast", "machine"),
    Trial("+recompute", "room", "blocks that run again need not keep theirs", "code"),
    Trial("+optimizer=sgd", "room", "SGD keeps half of AdamW's state", "what is computed"),
    *(Trial(f"+gpu={name}", "hardware", "", "machine") for name in _CARDS),
)  # fmt: skip

UNTRIED = {
    "batch": "tried at two and four times what it is",
    "seq": "another question is asked", "size": "another network", "network": "another network",
    "training": "another question is asked", "freeze": "another question is asked",
    "remove": "what were free is a question about a chosen op",
    "utilisation": "a question about a kernel that is yet to be written",
    "mode": "cuda_graph says it", "host": "one host is known; host_speed says it",
    "memory": "it changes no time; what fits is a question for seek",
    "rate": "the shares say it",
    "figure": "the figures are tried by name",
}  # fmt: skip
"""What-ifs that advice leaves out, each with its reason."""
