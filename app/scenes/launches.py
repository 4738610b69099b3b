"""Groups of launches of one op on one shape, for the marks of the roofline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.answers.groups import shape_of, short_dtype
from simulator.prediction import Prediction, Regime
from simulator.timing.rates import roof_flops_per_s

NAMED = ("gemm", "gemv", "conv", "attention", "rnn")
"""Families labelled by their module instead of their op."""


@dataclass(frozen=True)
class LaunchGroup:
    """Launches of one op on one shape: sums of their predicted figures. `ops` are indices of the
    trace, `modules` their modules with numbers as stars. `peak_flops_per_s` is the peak of their
    engine; `of_roof` is their rate as a share of the lower roof of the data sheet at their
    intensity, `roof` the name of that roof."""

    op: str
    family: str
    label: str
    shape: str
    dtype: str
    modules: tuple[str, ...]
    ops: frozenset[int]
    count: int
    total_s: float
    share: float
    flops: int
    bytes: int
    regime: Regime
    engine: str
    peak_flops_per_s: float
    of_roof: float
    roof: str

    @property
    def each_s(self) -> float:
        """Seconds of one launch."""
        return self.total_s / self.count

    @property
    def intensity(self) -> float:
        """FLOPs per byte."""
        return self.flops / self.bytes if self.bytes else 0.0

    @property
    def achieved_flops_per_s(self) -> float:
        """FLOPs over time."""
        return self.flops * self.count / self.total_s if self.total_s else 0.0

    @property
    def achieved_bytes_per_s(self) -> float:
        """Bytes over time."""
        return self.bytes * self.count / self.total_s if self.total_s else 0.0

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        """The key that identifies the group when batch, precision or GPU change."""
        return self.op, self.family, self.modules


@dataclass(frozen=True)
class LaunchColumns:
    """The figures of many groups as arrays; `computes` is False without FLOPs."""

    computes: NDArray[np.bool_]
    intensity: NDArray[np.float64]
    flops_per_s: NDArray[np.float64]
    bytes_per_s: NDArray[np.float64]
    share: NDArray[np.float64]


def launch_columns(groups: Sequence[LaunchGroup]) -> LaunchColumns:
    """The figures of groups, in their order."""
    rows = [(g.intensity, g.achieved_flops_per_s, g.achieved_bytes_per_s, g.share) for g in groups]
    table = np.array(rows, float).reshape(-1, 4)
    return LaunchColumns(np.array([g.flops > 0 for g in groups], bool), *table.T)


def launch_groups(p: Prediction) -> list[LaunchGroup]:
    """Group the launches of a prediction by op and shape, the longest total time first."""
    c = p.columns
    parts: dict[tuple[str, str, str, str], list[NDArray[np.int64]]] = {}
    order = np.argsort(c.work_of, kind="stable").astype(np.int64)
    ends = np.flatnonzero(np.diff(c.work_of[order])) + 1
    for rows in np.split(order, ends) if order.size else []:
        work, op = int(c.work_of[rows[0]]), int(c.op_of[rows[0]])
        name = p.trace.ops[op].name.removeprefix("aten.").removesuffix(".default")
        each = p.works[work]
        key = name, each.family, shape_of(p, work, op), f"{each.engine} {each.dtype}"
        parts.setdefault(key, []).append(rows)
    duration = c.duration_s
    groups = [_launch_group(p, key, np.concatenate(rows), duration) for key, rows in parts.items()]
    return sorted(groups, key=lambda a: -a.total_s)


def _launch_group(
    p: Prediction,
    key: tuple[str, str, str, str],
    rows: NDArray[np.int64],
    duration: NDArray[np.float64],
) -> LaunchGroup:
    c = p.columns
    work = p.works[int(c.work_of[rows[0]])]
    compute, memory = c.compute_s[rows], c.memory_s[rows]
    bound, computing = np.maximum(compute, memory), compute >= memory
    sums: dict[Regime, float] = {
        "compute": float(bound[computing].sum()),
        "memory": float(bound[~computing].sum()),
        "overhead": float(c.fixed_s[rows].sum()),
    }
    total = float(duration[rows].sum())
    ops: list[int] = sorted(set(c.op_of[rows].tolist()))
    modules = tuple(dict.fromkeys(starred(p.trace.ops[op].module) for op in ops))
    peak = roof_flops_per_s(p.gpu, work)
    at_peak = work.computed_flops / peak
    moving = work.bytes / p.gpu.bandwidth_bytes_per_s
    roof = f"{short_dtype(work.dtype)} {work.engine}" if at_peak > moving else "DRAM"
    name, family, shape, _ = key
    return LaunchGroup(
        name,
        family,
        _label(name, family, modules),
        shape,
        short_dtype(work.dtype),
        modules,
        frozenset(ops),
        rows.size,
        total,
        total / p.gpu_busy_s if p.gpu_busy_s else 0.0,
        round(work.computed_flops),
        work.bytes,
        max(sums, key=lambda r: sums[r]),
        work.engine,
        peak,
        max(at_peak, moving) * rows.size / total if total else 0.0,
        roof,
    )


@lru_cache(1 << 14)
def starred(module: str) -> str:
    """Replace the numbers of a module's path by stars: layers.3.up → layers.*.up."""
    return ".".join("*" if part.isdecimal() else part for part in module.split("."))


def _label(op: str, family: str, modules: tuple[str, ...]) -> str:
    """A short name: the last part of the module for products, the op for other launches."""
    short = op.removeprefix("_").partition(".")[0].removeprefix("native_")
    short = short.replace("scaled_dot_product_", "sdpa ")
    if family not in NAMED:
        return short.strip("_").replace("_", " ")
    tails = dict.fromkeys(
        next((part for part in reversed(m.split(".")) if part != "*"), "") for m in modules
    )
    names = [t.replace("_", " ") for t in tails if t]
    if not names:
        return short.strip("_").replace("_", " ")
    return ", ".join(names[:2]) + (f" +{len(names) - 2}" if len(names) > 2 else "")
