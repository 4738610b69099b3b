"""Resolve a scenario: look up its GPU and host, and apply its what-ifs in order."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from simulator.errors import InputError
from simulator.formats.toml import shown
from simulator.hardware.gpu import GPU, PACKAGED
from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.gpu_file import of_table
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.modes import run_of
from simulator.networks.catalogue import CATALOGUE, network
from simulator.scenario.registry import named
from simulator.scenario.resolved import DTYPES, OPTIMIZERS, ResolvedScenario, TraceRequest
from simulator.scenario.scenario import Scenario


def resolve(scenario: Scenario) -> ResolvedScenario:
    """Resolve a scenario: look up its GPU and host, and apply its what-ifs in order.

    Raises InputError if a field is wrong, or a what-if cannot be applied after those before it.
    """
    resolved = base(scenario)
    for applied in scenario.whatifs:
        whatif = named(applied.name)
        resolved = whatif.body(resolved, **whatif.checked(applied.arguments)).possible()
    _check_training(resolved.request)
    run = run_of(resolved.mode, resolved.fusion is not None)
    if run == "eager" or resolved.request.saved or resolved.request.network in CATALOGUE:
        return resolved
    return replace(resolved, request=replace(resolved.request, run=run))


def _check_training(request: TraceRequest) -> None:
    """Raise InputError for a training step if the packaged network has no training step."""
    entry = None if request.saved else CATALOGUE.get(request.network)
    if request.training and entry is not None and not entry.trains:
        raise InputError(f"network {entry.name!r} has no training step: predict inference instead")


def base(scenario: Scenario) -> ResolvedScenario:
    """The resolved scenario before any what-if."""
    saved = scenario.trace_file is not None
    check(scenario)
    if saved:
        _refuse_fixed(scenario)
    else:
        check_network(scenario.network)
    request = TraceRequest(
        network=scenario.network,
        batch=scenario.batch,
        seq=scenario.seq,
        dtype=scenario.dtype or "fp32",
        training=bool(scenario.training),
        optimizer=None if scenario.optimizer == "none" else scenario.optimizer or "adamw",
        sizes=tuple(sorted(scenario.sizes.items())),
        data_sizes=tuple(sorted(scenario.data_sizes.items())),
        saved=saved,
    )
    host = faster_host(find_host(scenario.host), scenario.host_speed)
    return ResolvedScenario(request, gpu_of(scenario.gpu), host, scenario.mode)


def gpu_of(gpu: str | Mapping[str, Any]) -> GPU:
    """Look up a GPU by name, or read it from a TOML file or the keys of such a file."""
    if isinstance(gpu, str):
        return _packaged(gpu, os.environ.get("RIDGEPOINT_GPUS")) or find_gpu(gpu)
    return _inline(msgspec.json.encode(gpu))


@lru_cache(maxsize=64)
def _packaged(name: str, _users: str | None) -> GPU | None:
    """The GPU of this name if its file is packaged, so that it cannot change; else None."""
    gpu = find_gpu(name)
    packaged = not name.lower().endswith(".toml") and (PACKAGED / f"{gpu.id}.toml").is_file()
    return gpu if packaged else None


@lru_cache(maxsize=64)
def _inline(keys: bytes) -> GPU:
    return GPU(id="inline", **of_table(msgspec.json.decode(keys), "gpu"))


def faster_host(host: Host, times: float) -> Host:
    """A copy of a host with all its times, waits for the GPU included, divided by `times`."""
    if times == 1.0:
        return host
    return replace(
        host,
        latency_s=host.latency_s / times,
        sync_s=host.sync_s / times,
        seconds={name: value / times for name, value in host.seconds.items()},
    )


def check(scenario: Scenario) -> None:
    """Raise InputError for an invalid batch, sequence length, dtype, optimizer or host speed."""
    for name, value in (("batch", scenario.batch), ("seq", scenario.seq)):
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}: expected 1 or more")
    for name, value, choices in (
        ("dtype", scenario.dtype, DTYPES),
        ("optimizer", scenario.optimizer, OPTIMIZERS),
    ):
        if value is not None and value not in choices:
            raise InputError(f"unknown {name} {shown(value)}: expected one of {', '.join(choices)}")
    if not 1e-3 <= scenario.host_speed <= 1e3:
        raise InputError(
            f"host_speed is {scenario.host_speed}: expected 0.001 to 1000 times the host's speed"
        )


def check_network(name: str) -> None:
    """Raise InputError for a name that is neither in the catalogue nor that of a file or of a
    network in a library."""
    if ":" not in name and not name.endswith(".py"):
        network(name)


def _refuse_fixed(scenario: Scenario) -> None:
    fixed = {
        "batch": scenario.batch,
        "seq": scenario.seq,
        "dtype": scenario.dtype,
        "training": scenario.training,
        "optimizer": scenario.optimizer,
        "sizes": scenario.sizes or None,
        "data_sizes": scenario.data_sizes or None,
    }
    extra = [name for name, value in fixed.items() if value is not None]
    if extra:
        raise InputError(
            f"{scenario.network} is a saved trace with fixed settings: leave "
            f"{', '.join(extra)} out, or name the network instead"
        )
