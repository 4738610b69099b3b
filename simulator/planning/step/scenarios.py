"""The scenarios of steps in a precision and an engine."""

from __future__ import annotations

from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import network as entry_of
from simulator.planning.spec import SERVERS
from simulator.planning.step.traced_step import sizes_of
from simulator.scenario.module_pattern import ALL
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

WHATIFS = {"fp8": "fp8", "int8": "weights", "int4": "weights", "nvfp4": "nvfp4"}
"""Precisions that apply a what-if to the plain one, with the name of that what-if."""


def plain_dtype(gpu: GPU, precision: str) -> str:
    """The dtype of activations: a card without bf16 products serves in fp16."""
    if precision in ("fp16", "fp32"):
        return precision
    return "bf16" if gpu.peak("tensor", "bf16") else "fp16"


def run_precision(gpu: GPU, precision: str) -> str:
    """The precision that a card runs: fp16 instead of bf16 on cards without bf16 products."""
    return plain_dtype(gpu, precision) if precision == "bf16" else precision


def weight_only(gpu: GPU, precision: str) -> bool:
    """Whether a card only stores weights in this precision, because it cannot multiply in it."""
    return precision == "nvfp4" and not gpu.peak("tensor", "fp4")


def base_scenario(
    network: str, gpu: GPU, precision: str, mode: str, host: str | None = None
) -> Scenario:
    """The scenario of a precision; low precisions are what-ifs on the plain one."""
    dtype = plain_dtype(gpu, precision)
    scenario = Scenario(network, gpu=gpu.id, mode=mode, dtype=dtype, host=host)
    name = WHATIFS.get(precision)
    if name is None:
        return scenario
    if weight_only(gpu, precision):
        name = "weights"
    entry = entry_of(network)
    modules = entry.quantised_4bit if precision in ("nvfp4", "int4") else entry.quantised
    parameters = {} if modules == ALL else {"modules": modules}
    return apply(scenario, name, parameters | ({"dtype": precision} if name == "weights" else {}))


def engine_scenario(
    network: str, gpu: GPU, precision: str, engine: str, host: str | None = None
) -> Scenario:
    """The scenario of a step in an engine; servers run mixtures of experts with fused kernels."""
    mode = "eager" if engine == "eager" else "cuda_graph"
    scenario = base_scenario(network, gpu, precision, mode, host)
    if engine in SERVERS and "experts" in sizes_of(network):
        return apply(scenario, "fused_experts", {})
    return scenario
