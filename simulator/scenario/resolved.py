"""What a scenario comes to: the network to trace, the edits of its trace, and the machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from simulator.errors import InputError
from simulator.fusion.rules import Level
from simulator.hardware.gpu import GPU
from simulator.hardware.host import Host
from simulator.modes import Run
from simulator.records import Trace

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
