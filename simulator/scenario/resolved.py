"""A resolved scenario: the network to trace, the edits of its trace, the GPU and the host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast, final, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.hardware.host import Host
from simulator.modes import Run
from simulator.records import Trace

if TYPE_CHECKING:
    from simulator.fusion.rules import Level
    from simulator.symbols.family import Family

T = TypeVar("T")
DTYPES = ("fp32", "bf16", "fp16", "autocast", "autocast-fp16")
OPTIMIZERS = ("adamw", "adamw_fused", "sgd", "none")


class Edit(Protocol):
    """A pure function from trace to trace; a frozen record, so that equal edits compare equal.

    Edits run in order of `rank`, whatever the order of their what-ifs: 0 edits products and casts,
    1 takes ops out, 2 fuses ops, 3 recomputes blocks, 4 repeats the step.
    """

    @property
    def rank(self) -> int: ...

    def __call__(self, trace: Trace) -> Trace: ...


@runtime_checkable
class FamilyEdit(Protocol):
    """An edit that is the same at every batch and sequence: it can edit a whole family."""

    def of_family(self, family: Family) -> Family: ...


@runtime_checkable
class Demanding(Protocol):
    """An edit that needs a certain GPU or mode."""

    def demand(self, resolved: ResolvedScenario) -> None:
        """Raise InputError, with the reason, if the GPU or the mode cannot run the edit."""
        ...


class Selective(ABC, Generic[T]):
    """An edit of ops that some steps lack. A card calls `chosen` alone, a prediction both
    methods."""

    @abstractmethod
    def chosen(self, trace: Trace) -> T:
        """What the edit changes in a step, such as its ops. Raises InputError, with the reason, if
        the step has nothing to change."""

    @abstractmethod
    def rewritten(self, trace: Trace, chosen: T) -> Trace:
        """The trace with the chosen ops changed."""

    @final
    def __call__(self, trace: Trace) -> Trace:
        """The edited trace. Raises InputError as `chosen` does."""
        return self.rewritten(trace, self.chosen(trace))


@cache
def fits(kind: type[Edit], protocol: type) -> bool:
    """Whether edits of a type fit a protocol. Cached, because the check takes longer than the rest
    of a what-if."""
    return issubclass(kind, protocol)


class TraceRequest(Struct, frozen=True):
    """A request for a trace.

    frozen         patterns of parameters that are not trained
    module_dtypes  pairs of a module pattern and a dtype
    sdpa           the attention kernel; None is PyTorch's choice
    saved          `network` is the file of a saved trace
    run            how the code runs; it changes the trace only of networks that query it
    """

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


class Speed(Struct, frozen=True):
    """Run kernels of `family` `times` as fast."""

    family: str
    times: float


class Rates(Struct, frozen=True):
    """Speed-ups of compute, memory and overhead. The shares of a prediction are the elasticities of
    its period with respect to them."""

    compute: float = 1.0
    memory: float = 1.0
    overhead: float = 1.0


class ResolvedScenario(Struct, frozen=True):
    """A scenario with everything looked up and its what-ifs applied.

    fusion  the level at which kernels are fused; None leaves it to the mode: nothing in eager
            mode, all that torch.compile fuses in compiled mode
    notes   texts for the reader: changes, and how well each is known
    """

    request: TraceRequest
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
        """A copy with another trace request. Raises InputError if the trace is a saved one."""
        if self.request.saved:
            raise InputError(
                f"{what} needs the network traced again, and {self.request.network} is a saved "
                "trace: expected a network; name it instead"
            )
        return replace(self, request=replace(self.request, **changes))

    def edited(self, edit: Edit, *notes: str) -> ResolvedScenario:
        """A copy with one more edit of the trace. An equal edit is added once."""
        if edit in self.edits:
            return self
        edits = tuple(sorted((*self.edits, edit), key=lambda e: (e.rank, repr(e))))
        return (
            self.noted(*notes) if edits == self.edits else replace(self.noted(*notes), edits=edits)
        )

    def possible(self) -> ResolvedScenario:
        """Return this scenario unchanged. Raises InputError if its GPU or its mode cannot run one
        of its edits."""
        for edit in self.edits:
            if fits(type(edit), Demanding):
                cast("Demanding", edit).demand(self)
        return self

    def noted(self, *notes: str) -> ResolvedScenario:
        """A copy with more notes, sorted and without duplicates, so that the order of what-ifs has
        no effect."""
        return replace(self, notes=tuple(sorted({*self.notes, *notes})))
