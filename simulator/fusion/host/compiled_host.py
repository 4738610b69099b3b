"""What a host was fitted to take for compiled steps: data, with its error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "profiles"


@dataclass(frozen=True)
class HostCosts:
    """Seconds on the host of `reference_op_s`, and scaled with a host's own `op` elsewhere.

    call_s           the way into the generated code and out of it
    input_s          a tensor handed over: its guard and its checks
    weight_s         a weight or buffer of the module: the same, and finding it
    backward_s       the backward's node, and the way into its code
    gradient_s       a gradient given to its weight, and cleared
    triton_s         the wrapper's work for a generated kernel, its result's allocation included;
                     the driver's call (`Host.launch_s`) comes on top, as for any other kernel
    backward_triton_s  more of it in the backward pass: autograd's thread is another one, whose
                     caches hold less of it, and each kernel has more tensors
    product_s        a matrix product called from the wrapper, its launch on top
    further_product_s  one with a bias or a batch, for which cuBLAS looks for a plan in each call
    convolution_s    a convolution
    attention_s      fused attention
    cold_s           more of a kernel or a call if four others ran since it ran last
    tabled_s         more of a convolution's backward, called through Python's table of operators
    resumed_s        more of a graph behind a break: the function that goes on there is a call
    node_s           and of its autograd function, which is Python, forward and backward
    """

    call_s: float
    input_s: float
    weight_s: float
    backward_s: float
    gradient_s: float
    triton_s: float
    backward_triton_s: float
    product_s: float
    further_product_s: float
    convolution_s: float
    attention_s: float
    cold_s: float
    tabled_s: float
    resumed_s: float
    node_s: float
    reference_op_s: float


@dataclass(frozen=True)
class ReplayCosts:
    """Seconds on the host of `HostCosts.reference_op_s`, where CUDA graph trees run the step.

    graph_s     the tree finds the graph that may follow, and hands its results over
    held_s      a tensor that a graph finds in its place, a copy too, or hands over
    gradient_s  a gradient given to its weight, and cleared: no result is allocated for it
    backward_s  the backward's node, and the way into its graph
    """

    graph_s: float
    held_s: float
    gradient_s: float
    backward_s: float


class Error(msgspec.Struct, frozen=True):
    """Of predicted over measured periods of the `steps` fitted to: shares of one."""

    steps: int
    median: float
    p90: float


class CompiledHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Fitted costs of compiled steps, launched one by one and replayed, each with its error."""

    source: str
    launched: HostCosts
    launched_error: Error
    replayed: ReplayCosts
    replayed_error: Error


@cache
def compiled_host(name: str = "xeon-h200") -> CompiledHost:
    """The packaged costs; those of other hosts scale with their own speed."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=CompiledHost)
