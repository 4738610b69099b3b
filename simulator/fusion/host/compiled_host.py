"""The host's fitted costs of compiled steps, with their errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "profiles"


@dataclass(frozen=True)
class HostCosts:
    """Seconds on the host whose `op` takes `reference_op_s`; other hosts scale them with their own
    `op`.

    call_s           a call of the generated code
    input_s          an input tensor: its guard and its checks
    weight_s         a weight or buffer of the module: its guard, its checks and its look-up
    backward_s       the backward pass's autograd node and the call of its code
    gradient_s       a gradient assigned to its weight, and cleared
    triton_s         the wrapper's work for a generated kernel, with the allocation of its result,
                     but without the driver's call (`Host.launch_s`); the same in both passes
    product_s        a matrix product called from the wrapper, without its launch
    further_product_s  a product with a bias or a batch: cuBLAS looks up a plan in each call
    convolution_s    a convolution
    attention_s      fused attention
    cold_s           added per kernel or call if at least four others ran since its last run
    tabled_s         added to a convolution's backward, because Python's table of operators calls it
    resumed_s        added per forward graph after a break: its code is a separate function
    node_s           added per backward graph after a break, for its autograd function in Python,
                     forward and backward
    """

    call_s: float
    input_s: float
    weight_s: float
    backward_s: float
    gradient_s: float
    triton_s: float
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
    """Seconds if CUDA graph trees run the step, on the host of `HostCosts.reference_op_s`.

    graph_s     the tree's selection of the next graph, and the return of its results
    held_s      a tensor that a graph receives in its own memory (or copies there) or passes on
    gradient_s  a gradient assigned to its weight, and cleared; no result is allocated
    backward_s  the backward's node and the call of its graph
    """

    graph_s: float
    held_s: float
    gradient_s: float
    backward_s: float


class Error(msgspec.Struct, frozen=True):
    """Relative errors of the predicted periods of the fitted `steps`."""

    steps: int
    median: float
    p90: float


class CompiledHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Fitted costs of compiled steps whose kernels are launched one by one or replayed, each with
    its error."""

    source: str
    launched: HostCosts
    launched_error: Error
    replayed: ReplayCosts
    replayed_error: Error


@cache
def compiled_host(name: str = "xeon-h200") -> CompiledHost:
    """The packaged costs; costs of other hosts scale with their speed."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=CompiledHost)
