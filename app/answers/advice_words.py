"""Advice in full sentences, in two groups: change the software, or the hardware."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.quantities import plain, trimmed
from simulator.analysis.advice import Advice
from simulator.hardware.gpu import gpu
from simulator.scenario.registry import named

GROUPS = ("Change the software", "Change the hardware")
_TYPES = {"int8": "8-bit integers", "int4": "4-bit integers", "fp8": "float8", "nvfp4": "NVFP4"}
_COMPILERS = {"tensorrt": "TensorRT", "xla": "XLA", "nvfuser": "nvFuser"}
_OPTIMIZERS = {"adamw_fused": "fused AdamW", "sgd": "SGD", "none": "no optimizer"}

_SENTENCES: dict[str, str | Callable[[Mapping[str, Any]], str]] = {
    "cuda_graph": "Capture the step in a CUDA graph",
    "fusion": lambda a: (
        f"Compile with {_COMPILERS.get(a['level'], 'torch.compile')}"
        if a["level"] not in ("pointwise", "pointwise+reductions")
        else f"Fuse loops: {a['level'].replace('+', ' and ')}"
    ),
    "no_python": "Drive the step without Python",
    "no_syncs": "Do not wait for the GPU within the step",
    "optimizer": lambda a: f"Update weights with {_OPTIMIZERS.get(a['to'], a['to'])}",
    "accumulate": lambda a: f"Accumulate the gradients of {a['steps']} passes",
    "precision": lambda a: f"Compute in {a['dtype']}",
    "fp8": "Run linear layers in float8",
    "nvfp4": "Run linear layers in NVFP4",
    "fused_experts": "Run experts with the fused kernels of serving engines",
    "sdpa": lambda a: f"Use the {a['backend']} kernel of attention",
    "weights": lambda a: f"Store weights as {_TYPES[a['dtype']]}",
    "kv_cache": lambda a: f"Store keys and values in {_TYPES.get(a['dtype'], a['dtype'])}",
    "recompute": "Recompute activations in the backward pass",
    "batch": lambda a: f"Use a batch of {plain(a['samples'])}",
    "fuse": lambda a: f"Fuse {_listed(a['ops'])} into one kernel",
    "host_speed": lambda a: f"Use a host {_times(a)} as fast",
    "launch_cost": lambda a: f"Make launches cost {_times(a)} as much",
    "launch_latency": lambda a: f"Start kernels {_number(a['microseconds'])} µs after launch",
    "queue_depth": lambda a: f"Queue up to {plain(a['launches'])} launches",
    "tensor_peak": lambda a: f"Use tensor cores {_times(a)} as fast",
    "vector_peak": lambda a: f"Use vector units {_times(a)} as fast",
    "sustained_clock": lambda a: f"Raise the clock to {_times(a)} its value",
    "bandwidth": lambda a: f"Use memory with {_times(a)} the bandwidth",
    "l2": lambda a: f"Use an L2 cache of {_times(a)} the size",
    "l2_bandwidth": lambda a: f"Use an L2 cache with {_times(a)} the bandwidth",
    "gpu": lambda a: f"Run on {gpu(str(a['to'])).name}",
}
"""The sentence of a what-if without the full stop, or a function that builds it from the
arguments."""


def sentence(advice: Advice) -> str:
    """The advice as a sentence: "Capture the step in a CUDA graph." """
    applied = advice.scenario.whatifs[-1]
    words = _SENTENCES.get(applied.name)
    if words is None:
        text = applied.name.replace("_", " ")
        return f"{text[:1].upper()}{text[1:]}."
    defaults = {p.name: p.default for p in named(applied.name).parameters}
    return f"{words if isinstance(words, str) else words({**defaults, **applied.arguments})}."


def group(advice: Advice) -> str:
    """The group of `GROUPS` that advice belongs to."""
    return GROUPS[advice.changes == "machine"]


def _times(arguments: Mapping[str, Any]) -> str:
    times = float(arguments["times"])
    return {2.0: "twice", 0.5: "half"}.get(times, f"{_number(times)} times")


def _number(value: float) -> str:
    return trimmed(f"{value:.3f}") if "." in f"{value:.3f}" else plain(value)


def _listed(ops: str) -> str:
    """Op names joined by "+" as words: "addmm and gelu"."""
    names = [name.removeprefix("native_").replace("_", " ") for name in ops.split("+")]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
