"""Groups of launches of one op on one shape, for the marks of the roofline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.answers.groups import shape_of, short_dtype
from simulator.costs import Work
from simulator.prediction import Prediction, Regime
from simulator.timing.rates import roof_flops_per_s

Ints = NDArray[np.int64]

NAMED = ("gemm", "gemv", "conv", "attention", "rnn")
"""Families labelled by their module instead of their op."""


@dataclass(frozen=True)
class LaunchGroup:
    """Launches of one op on one shape: sums of their predicted figures. `ops` are indices into the
    trace, `modules` are their modules with stars in place of indices. `peak_flops_per_s` is the
    peak of their engine; `of_roof` is their rate as a share of the data sheet's lower roof at their
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
    distinct, first = np.unique(c.work_of, return_index=True)
    numbers: dict[_Key, int] = {}
    firsts: list[int] = []  # the first `Work` of each group
    group_of = np.zeros(len(p.works), np.int64)
    works: list[int] = distinct.tolist()
    ops_of: list[int] = c.op_of[first].tolist()
    for work, op in zip(works, ops_of, strict=True):
        name = p.trace.ops[op].name.removeprefix("aten.").removesuffix(".default")
        each = p.works[work]
        key = name, each.family, shape_of(p, work, op), f"{each.engine} {each.dtype}"
        number = group_of[work] = numbers.setdefault(key, len(firsts))
        if number == len(firsts):
            firsts.append(work)
    group = group_of[c.work_of]
    sums, ops = _sums(p, group, len(firsts)), _ops(p, group, len(firsts))
    groups = [
        _launch_group(p, key, p.works[work], one, sums_of)
        for key, work, one, sums_of in zip(numbers, firsts, ops, sums, strict=True)
    ]
    return sorted(groups, key=lambda a: -a.total_s)


_Key = tuple[str, str, str, str]
"""The op, the family, the shape, and the engine with the dtype of a group."""


class _Sums(NamedTuple):
    """The number of launches of a group, their seconds, and the seconds of each bound."""

    launches: int
    total_s: float
    compute_s: float
    memory_s: float
    overhead_s: float


def _sums(p: Prediction, group: Ints, count: int) -> list[_Sums]:
    """The sums of each of `count` groups, given the group of each launch."""
    c = p.columns
    bound, computing = np.maximum(c.compute_s, c.memory_s), c.compute_s >= c.memory_s
    columns = [
        np.bincount(group, minlength=count),
        *(
            np.bincount(group, seconds, count)
            for seconds in (
                c.duration_s,
                np.where(computing, bound, 0.0),
                np.where(computing, 0.0, bound),
                c.fixed_s,
            )
        ),
    ]
    return [_Sums(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _ops(p: Prediction, group: Ints, count: int) -> list[list[int]]:
    """The ops of each group, in order."""
    number = np.unique(group * len(p.trace.ops) + p.columns.op_of)
    of, op = np.divmod(number, max(1, len(p.trace.ops)))
    ends = np.searchsorted(of, np.arange(count), "right").tolist()
    listed = op.tolist()
    return [listed[begin:end] for begin, end in pairwise([0, *ends])]


def _launch_group(p: Prediction, key: _Key, work: Work, ops: list[int], of: _Sums) -> LaunchGroup:
    sums: dict[Regime, float] = {
        "compute": of.compute_s,
        "memory": of.memory_s,
        "overhead": of.overhead_s,
    }
    traced = p.trace.ops
    modules = tuple(dict.fromkeys([starred(traced[op].module) for op in ops]))
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
        of.launches,
        of.total_s,
        of.total_s / p.gpu_busy_s if p.gpu_busy_s else 0.0,
        round(work.computed_flops),
        work.bytes,
        max(sums, key=lambda r: sums[r]),
        work.engine,
        peak,
        max(at_peak, moving) * of.launches / of.total_s if of.total_s else 0.0,
        roof,
    )


@lru_cache(1 << 14)
def starred(module: str) -> str:
    """Replace the indices in a module's path with stars: layers.3.up → layers.*.up."""
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
