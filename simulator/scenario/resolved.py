"""What a scenario comes to: the network to trace, the edits of its trace, and the machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from simulator.errors import InputError
from simulator.formats.toml import shown
from simulator.fusion.rules import Level
from simulator.hardware.gpu import GPU, PACKAGED
from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.gpu_file import of_table
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.modes import Run, run_of
from simulator.networks.catalogue import network
from simulator.records import Trace
from simulator.scenario.scenario import Scenario

if TYPE_CHECKING:
    from simulator.symbols.family import Family

DTYPES = ("fp32", "bf16", "fp16", "autocast", "autocast-fp16")
OPTIMIZERS = ("adamw", "adamw_fused", "sgd", "none")


class Edit(Protocol):
    """A pure function from trace to trace; a frozen record, so that equal edits are equal.

    `rank` says when it runs: products and casts are edited (0) before ops are taken out (1) or
    fused (2), blocks are run again (3), and steps repeated (4), in whatever order they were asked
    for.
    """

    @property
    def rank(self) -> int: ...

    def __call__(self, trace: Trace) -> Trace: ...


@runtime_checkable
class FamilyEdit(Protocol):
    """An edit that does the same at every batch and sequence: of a whole family at once."""

    def of_family(self, family: Family) -> Family: ...


@runtime_checkable
class Demanding(Protocol):
    """An edit that not every machine or mode can run, whatever was asked for first."""

    def demand(self, setting: ResolvedScenario) -> None:
        """InputError, with the reason, for a setting that cannot."""
        ...


@dataclass(frozen=True)
class TraceRequest:
    """What is to be traced. `frozen` are patterns of parameters, `module_dtypes` pairs of a module
    pattern and a dtype, `sdpa` the attention kernel that is asked for; `run` is how the code runs,
    which changes the trace of a network that asks for it alone."""

    network: str
    batch: int | None
    seq: int | None
    dtype: str
    training: bool
    optimizer: str | None
    sizes: tuple[tuple[str, Any], ...]
    data_sizes: tuple[tuple[str, int], ...]
    frozen: tuple[str, ...] = ()
    module_dtypes: tuple[tuple[str, str], ...] = ()
    sdpa: str | None = None
    saved: bool = False
    checkpoint: tuple[str, ...] = ()
    run: Run = "eager"


@dataclass(frozen=True)
class Speed:
    """Kernels of `family` run `times` as fast."""

    family: str
    times: float


@dataclass(frozen=True)
class Rates:
    """How many times as fast everything is that computes, that moves data, and that is overhead:
    the three rates of which the shares are the elasticities."""

    compute: float = 1.0
    memory: float = 1.0
    overhead: float = 1.0


@dataclass(frozen=True)
class ResolvedScenario:
    """A scenario with everything looked up. `fusion` is the level that its kernels are fused at,
    None where the mode says it: nothing in eager mode, all that a compiler fuses in compiled mode.
    `notes` tell a reader what was changed and how well that is known."""

    ask: TraceRequest
    gpu: GPU
    host: Host
    mode: str
    edits: tuple[Edit, ...] = ()
    speeds: tuple[Speed, ...] = ()
    rates: Rates = Rates()
    gap_times: float = 1.0
    notes: tuple[str, ...] = ()
    fusion: Level | None = None

    def traced_otherwise(self, what: str, **changes: Any) -> ResolvedScenario:
        """With another trace asked for; InputError where the trace is a saved one."""
        if self.ask.saved:
            raise InputError(
                f"{what} needs the network traced again, and {self.ask.network} is a saved trace: "
                "expected a network; name it instead"
            )
        return replace(self, ask=replace(self.ask, **changes))

    def edited(self, edit: Edit, *notes: str) -> ResolvedScenario:
        """With one more edit of the trace; the same edit twice is one."""
        if edit in self.edits:
            return self
        edits = tuple(sorted((*self.edits, edit), key=lambda e: (e.rank, repr(e))))
        return (
            self.noted(*notes) if edits == self.edits else replace(self.noted(*notes), edits=edits)
        )

    def possible(self) -> ResolvedScenario:
        """Itself; InputError where its GPU or its mode cannot run an edit of it."""
        for edit in self.edits:
            if isinstance(edit, Demanding):
                edit.demand(self)
        return self

    def noted(self, *notes: str) -> ResolvedScenario:
        """With further notes, each once, in an order that does not depend on that of what-ifs."""
        return replace(self, notes=tuple(sorted({*self.notes, *notes})))


def resolve(scenario: Scenario) -> ResolvedScenario:
    """What a scenario comes to. InputError where a what-if cannot be applied to those before."""
    from simulator.networks.catalogue import CATALOGUE
    from simulator.scenario.registry import named

    found = base(scenario)
    for applied in scenario.whatifs:
        whatif = named(applied.name)
        found = whatif.body(found, **whatif.checked(applied.arguments)).possible()
    run = run_of(found.mode, found.fusion is not None)
    if run == "eager" or found.ask.saved or found.ask.network in CATALOGUE:
        return found
    return replace(found, ask=replace(found.ask, run=run))


def base(scenario: Scenario) -> ResolvedScenario:
    """The scenario's setting before any what-if."""
    saved = scenario.trace_file is not None
    _check(scenario)
    if saved:
        _refuse_fixed(scenario)
    else:
        _check_name(scenario.network)
    ask = TraceRequest(
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
    return ResolvedScenario(ask, gpu_of(scenario.gpu), host, scenario.mode)


def gpu_of(gpu: str | Mapping[str, Any]) -> GPU:
    """The GPU of a name or a file, or of the keys that its file would have."""
    if isinstance(gpu, str):
        return _packaged(gpu, os.environ.get("RIDGEPOINT_GPUS")) or find_gpu(gpu)
    return _inline(msgspec.json.encode(gpu))


@lru_cache(maxsize=64)
def _packaged(name: str, _users: str | None) -> GPU | None:
    """The GPU of a name if its file is one of Ridgepoint's own, which don't change meanwhile."""
    card = find_gpu(name)
    ours = not name.lower().endswith(".toml") and (PACKAGED / f"{card.id}.toml").is_file()
    return card if ours else None


@lru_cache(maxsize=64)
def _inline(keys: bytes) -> GPU:
    return GPU(id="inline", **of_table(msgspec.json.decode(keys), "gpu"))


def faster_host(host: Host, times: float) -> Host:
    """The host with everything that it does `times` as fast, its waits for the GPU too."""
    if times == 1.0:
        return host
    return msgspec.structs.replace(
        host,
        latency_s=host.latency_s / times,
        sync_s=host.sync_s / times,
        seconds={name: value / times for name, value in host.seconds.items()},
    )


def _check(scenario: Scenario) -> None:
    for name, value in (("batch", scenario.batch), ("seq", scenario.seq)):
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}: expected 1 or more")
    for name, value, known in (
        ("dtype", scenario.dtype, DTYPES),
        ("optimizer", scenario.optimizer, OPTIMIZERS),
    ):
        if value is not None and value not in known:
            raise InputError(f"unknown {name} {shown(value)}: expected one of {', '.join(known)}")
    if not 1e-3 <= scenario.host_speed <= 1e3:
        raise InputError(
            f"host_speed is {scenario.host_speed}: expected 0.001 to 1000, times the host's own"
        )


def _check_name(name: str) -> None:
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
    given = [name for name, value in fixed.items() if value is not None]
    if given:
        raise InputError(
            f"{scenario.network} is a saved trace, in which this is fixed: leave "
            f"{', '.join(given)} out, or name the network instead"
        )


Progress = Callable[[str], None]
