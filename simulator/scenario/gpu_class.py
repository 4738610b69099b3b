"""The properties of a GPU that traces depend on: GPUs with equal properties share traces."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from simulator.caches.identity import ByIdentity
from simulator.costs.attention.selection import CUDNN_FIRST
from simulator.formats.present import is_file
from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import CATALOGUE

_PROPERTIES: ByIdentity[tuple[Any, ...]] = ByIdentity(256)


def traced_properties(network: str, gpu: GPU) -> tuple[Any, ...]:
    """The properties of a GPU that a trace of this network depends on.

    Networks of the catalogue do not query the GPU. Only the rules of `simulator.tracing` do: for
    attention kernels, for cuDNN's batch norm, and for recurrent layers, whose generator state grows
    with the number of units. Other networks may query any property. A test checks this against
    every GPU.
    """
    return _PROPERTIES.get(gpu, network, partial(_properties, network, gpu))


def _properties(network: str, gpu: GPU) -> tuple[Any, ...]:
    capability = gpu.compute_capability
    bf16 = bool(gpu.peak("tensor", "bf16"))
    if network not in CATALOGUE:
        return (
            capability,
            gpu.vendor,
            bf16,
            gpu.units,
            gpu.id,
            gpu.name,
            gpu.memory_bytes,
            gpu.l2_bytes,
        )
    units = gpu.units if ".recurrent:" in CATALOGUE[network].factory else None
    rules = capability or ((8, 0) if bf16 else (0, 0))  # as in `simulator.tracing.semantics`
    return (
        rules in CUDNN_FIRST,
        rules >= (8, 0),
        rules >= (5, 0),
        gpu.vendor == "NVIDIA",
        (capability or (9, 0)) >= (8, 0),
        units,
    )


def gpu_as_traced(network: str, gpu: GPU) -> GPU:
    """A GPU with only the properties that a trace depends on, for the key of a trace on disk."""
    return GPU(
        id=repr(traced_properties(network, gpu)),
        name="as seen by a trace",
        memory_bytes=1,
        bandwidth_bytes_per_s=1.0,
    )


def modified_ns(network: str) -> int:
    """The modification time of a user's file in ns; 0 for networks of the catalogue."""
    if network in CATALOGUE:
        return 0
    path = Path(network.removeprefix("hf:").rpartition(":")[0] if ".py:" in network else network)
    return path.stat().st_mtime_ns if is_file(path) else 0
