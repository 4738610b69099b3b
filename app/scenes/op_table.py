"""Groups of launches as arrays, one row per group: the contents of the op table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.answers.groups import owner, shape_of, short_dtype
from app.scenes.launches import starred
from simulator.prediction import REGIMES, Prediction, Regime

By = Literal["op", "module", "shape", "launch"]
KEYS: dict[By, tuple[str, ...]] = {
    "op": ("Op",),
    "module": ("Module",),
    "shape": ("Op", "Shape", "Dtype"),
    "launch": ("Op", "Module", "Shape", "Dtype"),
}
"""The common properties of a group's launches."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WordColumn:
    """A column of words: `each` holds indices into `distinct`."""

    distinct: tuple[str, ...]
    each: Ints

    @staticmethod
    def of(words: Iterable[str]) -> WordColumn:
        places: dict[str, int] = {}
        each = [places.setdefault(word, len(places)) for word in words]
        return WordColumn(tuple(places), np.array(each, np.int64))

    def taken(self, rows: Ints) -> WordColumn:
        """The column with only these rows."""
        return WordColumn(self.distinct, self.each[rows])

    @cached_property
    def rank(self) -> Ints:
        """The alphabetical rank of each row."""
        order = sorted(range(len(self.distinct)), key=lambda n: self.distinct[n].lower())
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return ranks[self.each]

    def holding(self, part: str) -> NDArray[np.bool_]:
        """Whether each row contains a text, ignoring case."""
        matches = np.array([part in word.lower() for word in self.distinct], np.bool_)
        return matches[self.each] if matches.size else np.zeros(0, np.bool_)


@dataclass(frozen=True)
class OpGroups:
    """Sums over the launches of each group. `parts_s` is [groups, 3], in the order of REGIMES;
    `ops` are indices into the trace; those of group g are `ops[begin[g]:begin[g + 1]]`."""

    by: By
    words: dict[str, WordColumn]
    calls: Ints
    total_s: Floats
    share: Floats
    flops: Floats
    bytes: Floats
    parts_s: Floats
    tier: str
    ops: Ints
    begin: Ints

    def __len__(self) -> int:
        return self.calls.size

    @cached_property
    def regime(self) -> Ints:
        """The regime with most of a group's own time, as an index into REGIMES."""
        return np.argmax(self.parts_s, axis=1)

    def regime_of(self, group: int) -> Regime:
        """The name of a group's regime."""
        return REGIMES[int(self.regime[group])]

    def ops_of(self, groups: Iterable[int]) -> frozenset[int]:
        """The ops that launched these groups."""
        ops: set[int] = set()
        for g in groups:
            ops.update(self.ops[self.begin[g] : self.begin[g + 1]].tolist())
        return frozenset(ops)

    def with_ops(self, ops: frozenset[int]) -> NDArray[np.bool_]:
        """Whether each group contains one of these ops."""
        if not ops or not len(self):
            return np.zeros(len(self), np.bool_)
        chosen = np.isin(self.ops, np.fromiter(ops, np.int64, len(ops)))
        return np.logical_or.reduceat(chosen, self.begin[:-1])


def parts_s(p: Prediction) -> Floats:
    """Seconds of each launch by regime [kernels, 3], in the order of REGIMES: compute or memory
    time, whichever bounds the launch, and its fixed part. They sum to the GPU's busy time."""
    c = p.columns
    computing = c.compute_s >= c.memory_s
    return np.stack(
        [np.where(computing, c.compute_s, 0.0), np.where(computing, 0.0, c.memory_s), c.fixed_s],
        axis=1,
    )


def groups(p: Prediction, by: By) -> OpGroups:
    """The launches of a prediction in groups, in the order of their first launches."""
    c = p.columns
    columns = {name: _words(p, name, by) for name in KEYS[by]}
    if by == "launch":
        group_of = np.arange(p.kernel_count, dtype=np.int64)
        first = group_of
    else:
        codes = np.stack([column.each for column in columns.values()], axis=1)
        _, first, group_of = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        earliest = np.argsort(first)  # np.unique sorts by code; restore the order of the launches
        place = np.empty_like(earliest)
        place[earliest] = np.arange(earliest.size)
        first, group_of = first[earliest], place[group_of.reshape(-1)]
    count = int(first.size)

    def summed(each: Floats) -> Floats:
        return np.bincount(group_of, each, count).astype(np.float64)

    each_flops = np.array([float(w.computed_flops) for w in p.works])
    each_bytes = np.array([float(w.bytes) for w in p.works])
    own = parts_s(p)
    total = summed(c.duration_s)
    order = np.argsort(group_of, kind="stable")
    calls = np.bincount(group_of, minlength=count).astype(np.int64)
    return OpGroups(
        by,
        {name: words.taken(first) for name, words in columns.items()},
        calls,
        total,
        total / p.gpu_busy_s if p.gpu_busy_s else total,
        summed(each_flops[c.work_of]) if count else total,
        summed(each_bytes[c.work_of]) if count else total,
        np.stack([summed(own[:, n]) for n in range(len(REGIMES))], axis=1),
        next(iter(p.tiers), "datasheet"),
        c.op_of[order].astype(np.int64),
        np.concatenate([[0], np.cumsum(calls)]).astype(np.int64),
    )


def _words(p: Prediction, name: str, by: By) -> WordColumn:
    """The grouping key of each launch."""
    c, ops = p.columns, p.trace.ops
    places: list[int] = c.op_of.tolist()
    if name == "Op":
        return WordColumn.of(
            ops[op].name.removeprefix("aten.").removesuffix(".default") for op in places
        )
    if name == "Module":
        whole = [owner(ops[op].module, ops[op].phase) for op in places]
        return WordColumn.of(whole if by == "launch" else map(starred, whole))
    works: list[int] = c.work_of.tolist()
    if name == "Shape":
        pairs = zip(works, places, strict=True)
        return WordColumn.of(shape_of(p, work, op) for work, op in pairs)
    return WordColumn.of(short_dtype(p.works[work].dtype) for work in works)
