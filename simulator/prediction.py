"""The prediction of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.hardware.host import Host
from simulator.records import Phase, Trace
from simulator.schedule.memory import Memory, memory
from simulator.schedule.timeline import Schedule
from simulator.timing.kernel_models import duration_s
from simulator.timing.power import Power

if TYPE_CHECKING:
    from simulator.fusion.fused import Fused, Replays

Regime = Literal["compute", "memory", "overhead"]
REGIMES: tuple[Regime, ...] = ("compute", "memory", "overhead")
Shares = dict[Regime, float]


class Kernel(msgspec.Struct, frozen=True, gc=False):
    """One launch. Times are seconds from the start of a step that runs alone. The host launches it
    at `issue_s`; `idle_s` is the GPU's idle time before it. `shares` gives the share of each regime
    in its duration plus `idle_s`."""

    index: int
    op: int
    name: str
    family: str
    module: str
    phase: Phase
    flops: int
    read_bytes: int
    write_bytes: int
    engine: str
    dtype: str
    issue_s: float
    start_s: float
    duration_s: float
    idle_s: float
    compute_s: float
    memory_s: float
    fixed_s: float
    tier: str
    shares: Shares

    @property
    def bytes(self) -> int:
        return self.read_bytes + self.write_bytes

    @property
    def regime(self) -> Regime:
        return max(REGIMES, key=lambda r: self.shares[r])


@dataclass(frozen=True)
class Columns:
    """The kernels as arrays, one row each, in launch order."""

    work_of: NDArray[np.int64]
    op_of: NDArray[np.int64]
    compute_s: NDArray[np.float64]
    memory_s: NDArray[np.float64]
    fixed_s: NDArray[np.float64]

    @property
    def duration_s(self) -> NDArray[np.float64]:
        """max(compute, memory) + fixed."""
        return duration_s(self.compute_s, self.memory_s, self.fixed_s)


@dataclass(frozen=True)
class Idle:
    """Seconds in which the GPU waits in a steady-state step, by cause."""

    host_s: float
    sync_s: float


@dataclass(frozen=True, repr=False)
class Prediction:
    """The prediction of a step. Times in seconds, memory in bytes. A notebook shows its verdict.

    period_s    time per step, steps back to back
    latency_s   one step alone, from an idle GPU to an idle GPU
    gpu_busy_s  time per step in which a kernel runs
    host_s      host work in a step
    interval_s  80% interval of period_s
    shares      of period_s; they sum to 1
    unmodelled  count of ops without a cost function, by name
    tiers       share of GPU-busy time by the source of the kernels' times
    notes       remarks for the reader
    power       power and energy, and the clock under the power limit; None if the draw is unknown
    fusion      the kernels of a fused step, whose ops are those of `trace`; None in eager mode
    """

    trace: Trace
    gpu: GPU
    host: Host
    mode: str
    profile: str
    period_s: float
    latency_s: float
    gpu_busy_s: float
    host_s: float
    interval_s: tuple[float, float]
    shares: Shares
    idle: Idle
    unmodelled: dict[str, int]
    tiers: dict[str, float]
    notes: tuple[str, ...]
    works: Sequence[Work]
    columns: Columns
    schedule: Schedule
    power: Power | None = None
    fusion: Fused | None = None

    def __repr__(self) -> str:
        low_s, high_s = self.interval_s
        return (
            f"Prediction(period_s={self.period_s:.4g}, interval_s=({low_s:.4g}, {high_s:.4g}), "
            f"regime={self.regime!r}, gpu={self.gpu.id!r}, mode={self.mode!r})"
        )

    def _repr_html_(self) -> str | None:
        show = _shown_by("html")
        return show and show(self)

    def plot(self, picture: str = "roofline", **options: Any) -> Any:
        """A picture of the report, such as "roofline" or "timeline". A notebook shows it; its `svg`
        is the text of an SVG file. `theme` is "light" or "dark", `width` and `height` are pixels.

        Raises InputError if there is no such picture, or if no installed app draws it.
        """
        draw = _shown_by("plot")
        if draw is None:
            raise InputError(
                f"cannot plot the {picture}: no installed package draws predictions: expected "
                "ridgepoint; install it with pip"
            )
        return draw(self, picture, **options)

    @property
    def step(self) -> Trace | Fused:
        """The predicted step, fused if it is compiled. `predict_trace` accepts it."""
        return self.fusion or self.trace

    @property
    def replays(self) -> Replays | None:
        """The replay of a compiled step by CUDA graphs; None without graphs."""
        return self.fusion.replays if self.fusion else None

    @property
    def watts(self) -> float | None:
        """Mean power of the card in watts, steps back to back; None if its draw is unknown."""
        return self.power and self.power.watts

    @property
    def joules(self) -> float | None:
        """Energy per step in joules; None if unknown."""
        return self.power and self.power.joules

    @property
    def clock_mhz(self) -> float | None:
        """The clock of the step under the card's power limit, in MHz; None if unknown."""
        return self.power and self.power.clock_hz * 1e-6

    @property
    def power_limited(self) -> bool | None:
        """Whether the card's power limit lowers the clock; None if its draw is unknown."""
        return self.power and self.power.limited

    @property
    def regime(self) -> Regime:
        return max(REGIMES, key=lambda r: self.shares[r])

    @property
    def kernel_count(self) -> int:
        return int(self.columns.work_of.size)

    @property
    def weight_bytes(self) -> int:
        return self.trace.weight_bytes

    @cached_property
    def memory(self) -> Memory:
        return memory(self.trace, self.replays.pooled if self.replays else frozenset())

    @property
    def peak_memory_bytes(self) -> int:
        return self.memory.peak_bytes

    @property
    def workspace_bytes(self) -> int:
        """Bytes of the libraries' workspaces, not counting tensors."""
        return workspace_bytes(self.works, self.gpu)

    @property
    def fits(self) -> bool:
        return self.peak_memory_bytes + self.workspace_bytes <= self.gpu.memory_bytes

    @cached_property
    def flops(self) -> int:
        """FLOPs of the whole step, over all kernels."""
        each = np.array([float(w.flops) for w in self.works])
        return int(each[self.columns.work_of].sum()) if each.size else 0

    @cached_property
    def kernels(self) -> list[Kernel]:
        """Every launch in order."""
        c, s, ops = self.columns, self.schedule, self.trace.ops
        columns = (c.work_of, c.op_of, c.compute_s, c.memory_s, c.fixed_s, c.duration_s)
        rows = zip(
            *(column.tolist() for column in (*columns, s.issue_s, s.start_s, s.idle_s)),
            strict=True,
        )
        tier = next(iter(self.tiers), "datasheet")
        launches: list[Kernel] = []
        row: int
        op: int
        for row, op, compute_s, memory_s, fixed, duration, issue, start, idle in rows:
            work, call = self.works[row], ops[op]
            slot = duration + idle or 1.0
            bound = "compute" if compute_s >= memory_s else "memory"
            shares: Shares = {"compute": 0.0, "memory": 0.0, "overhead": 0.0}
            shares[bound] = max(compute_s, memory_s) / slot
            shares["overhead"] = 1.0 - shares[bound]
            launches.append(
                Kernel(
                    len(launches),
                    op,
                    call.signature.name.removeprefix("aten."),
                    work.family,
                    call.module,
                    call.phase,
                    work.flops,
                    work.read_bytes,
                    work.write_bytes,
                    work.engine,
                    work.dtype,
                    issue,
                    start,
                    duration,
                    idle,
                    compute_s,
                    memory_s,
                    fixed,
                    tier,
                    shares,
                )
            )
        return launches


def _shown_by(name: str) -> Callable[..., Any] | None:
    """The function that shows a prediction in a notebook; None if no installed package has one.

    The simulator imports nothing from the app: the app names its functions as entry points.
    """
    from importlib.metadata import entry_points  # slow to load, and only notebooks need it

    points = entry_points(group="ridgepoint.notebook", name=name)
    return next(iter(points)).load() if points else None


def workspace_bytes(works: Sequence[Work], gpu: GPU) -> int:
    """Bytes of the libraries' workspaces: cuBLAS takes 32 MiB on Hopper and later GPUs, 8 MiB + 128
    KiB on earlier ones (ATen/cuda/CublasHandlePool.cpp)."""
    used = any(w.family in ("gemm", "gemv") for w in works)
    newer = (gpu.compute_capability or (0, 0)) >= (9, 0)
    return (32 * 2**20 if newer else 8 * 2**20 + 128 * 2**10) if used else 0
