"""Latency-bound kernels: if not all blocks are resident at once, they run in several rounds.

Each round of a work with `blocks` blocks of `threads` threads takes the `steps` serial loads of one
thread.
"""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.lowering.registry import lowering
from simulator.records import Signature
from simulator.timing.rates import units_of


def threads_of_unit(gpu: GPU) -> int:
    """Threads that a multiprocessor holds (CUDA C++ Programming Guide, "Technical Specifications
    per Compute Capability"): 1,024 for 7.5; 1,536 for 8.6 to 8.9 and for 12; else 2,048."""
    capability = tuple(gpu.compute_capability or (0, 0))
    if capability == (7, 5):
        return 1024
    return 1536 if (8, 6) <= capability < (9, 0) or capability >= (12, 0) else 2048


def turns(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The work with the steps of all of its rounds."""
    d = work.dims
    if "blocks" not in d or "steps" not in d:
        return (work,)
    resident = units_of(gpu) * max(threads_of_unit(gpu) // d["threads"], 1)
    rounds = -(-d["blocks"] // resident)
    return (replace(work, dims={**d, "steps": d["steps"] * rounds}),)


for _family in (
    "weight_gradient",
    "batch_norm",
    "batch_norm_backward",
    "group_moments",
    "norm",
    "softmax",
    "scan",
):
    lowering(_family)(turns)
