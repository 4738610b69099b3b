"""Launches of a family's signatures at many points. Costs and lowering run once for each path that
the code of an op takes, for all points on that path together (`simulator.varying`).

The results for the last lists of points are cached, because the next prediction is often for
another GPU, host or mode at the same points.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.caches.cancelling import check_cancelled
from simulator.caches.derived import Derived
from simulator.costs import COSTS, Work
from simulator.costs.movement.views import nothing
from simulator.hardware.gpu import GPU
from simulator.lowering.inner_ops import inner_ops
from simulator.lowering.lower import gpu_works, lower_op
from simulator.symbols.family import Family
from simulator.timing.profile import Profile
from simulator.timing.roofline import Means, Roofs, Ruled, curve, roofs_of
from simulator.varying import Walked, walked

Ints = NDArray[np.int64]

_FEW = 8  # maximum number of launches of an ordinary op
_GRIDS = 64  # lists of points that are cached, for all families: a search uses several
_POINTS = 1 << 15  # points in all lists
_TABLES = 8  # GPUs whose roofs are cached with a list
_KINDS = 48  # classes of GPUs whose launches are cached with a list, and with a family


class Pattern(NamedTuple):
    """The launches of a signature: `places` holds the index of each launch's work among distinct
    works; `inner_ops` is the number of other ops that the op calls."""

    places: tuple[int, ...]
    inner_ops: int


class Launched(NamedTuple):
    """The launches of a signature on a class of GPUs: distinct works with their curves, and their
    pattern; `products` is True if they use a library's workspace (`prediction.workspace_bytes`).
    """

    works: tuple[Work, ...]
    curves: tuple[str, ...]
    pattern: Pattern
    products: bool


class Lowered(NamedTuple):
    """The launches of a signature at each point: the index of their pattern and whether they use a
    workspace [points], and the patterns."""

    pattern: Ints
    products: NDArray[np.bool_]
    patterns: list[Pattern]


class Kind(NamedTuple):
    """The launches of a family's signatures on a class of GPUs, and the works of all points, with
    the mean residuals of the last table of roofs. In such a table, the first work of a signature at
    a point is in row `begin` [signatures, points], and each further work is `stride` rows
    [signatures, points] later."""

    lowered: list[Lowered]
    begin: Ints
    stride: Ints
    ruled: list[Ruled]
    means: dict[str, Means]


@dataclass(eq=False)
class Grid:
    """A list of points: the sizes of a family [slots, points], and the roofs of the launches by GPU
    and profile."""

    family: Family
    sizes: Ints
    tables: list[tuple[GPU, Profile, Roofs]] = field(
        default_factory=list[tuple[GPU, Profile, Roofs]]
    )

    def on(self, gpu: GPU) -> Kind:
        """The launches on a GPU of this class."""
        return _KINDS_OF.get(self, lambda: _kind(self.family, self.sizes, gpu), kind_of(gpu))

    def roofs(self, gpu: GPU, profile: Profile, warm: Callable[[int], NDArray[np.bool_]]) -> Roofs:
        """The table of roofs that `Kind` refers to; `warm(n)` returns a mask of the n rows that hit
        L2."""
        for table_gpu, table_profile, table in self.tables:
            if table_gpu is gpu and table_profile is profile:
                return table
        kind = self.on(gpu)
        flags = warm(sum(work.points for work in kind.ruled))
        table = roofs_of(kind.ruled, gpu, profile, flags, kind.means)
        self.tables.append((gpu, profile, table))
        del self.tables[:-_TABLES]
        return table


_KINDS_OF = Derived[Kind](_KINDS)
_KNOWN_GRIDS: OrderedDict[tuple[int, bytes], Grid] = OrderedDict()
"""Grids by the identity of their family (each holds a reference to it) and by sizes, the least
recently used first."""
_LOCK = RLock()
_FIXED = Derived[dict[int, Launched]](_KINDS)
_SLOT_KINDS = Derived[dict[str, tuple[str, int]]]()


def kind_of(gpu: GPU) -> tuple[object, ...]:
    """The properties of a GPU that launches depend on."""
    return gpu.units, gpu.compute_capability, gpu.vendor, tuple(gpu.tensor_flops_per_s)


def grid(family: Family, sizes: Ints) -> Grid:
    """The grid of the points with these sizes [slots, points]."""
    key = id(family), sizes.tobytes()
    with _LOCK:
        known = _KNOWN_GRIDS.setdefault(key, Grid(family, sizes))
        _KNOWN_GRIDS.move_to_end(key)
        points = sum(cached.sizes.shape[1] for cached in _KNOWN_GRIDS.values())
        while len(_KNOWN_GRIDS) > 1 and (len(_KNOWN_GRIDS) > _GRIDS or points > _POINTS):
            _, oldest = _KNOWN_GRIDS.popitem(last=False)
            points -= oldest.sizes.shape[1]
    return known


def _kind(family: Family, sizes: Ints, gpu: GPU) -> Kind:
    distinct: dict[Any, tuple[Ints, Ints]] = {}
    lowered: list[Lowered] = []
    begins, strides = np.empty((2, len(family.varying), sizes.shape[1]), np.int64)
    ruled: list[Ruled] = []
    rows = 0
    for number, signature in enumerate(family.signatures):
        check_cancelled()
        slots = () if COSTS.get(signature.name) is nothing else family.varying[number]
        kinds = tuple(sorted({_slot_kind(family, slot) for slot in slots}))
        if kinds not in distinct:
            distinct[kinds] = _distinct_choices(sizes, [slot for _, slot in kinds])
        first, choice = distinct[kinds]
        begin, stride, pattern = (np.empty(first.size, np.int64) for _ in range(3))
        products = np.empty(first.size, np.bool_)
        patterns: dict[Pattern, int] = {}
        for launched, choices in _launches_by_path(family, number, slots, sizes[:, first], gpu):
            begin[choices] = rows + np.arange(choices.size)
            stride[choices] = choices.size
            pattern[choices] = patterns.setdefault(launched.pattern, len(patterns))
            products[choices] = launched.products
            for work, name in zip(launched.works, launched.curves, strict=True):
                ruled.append(Ruled(work, name, choices.size))
                rows += choices.size
        begins[number], strides[number] = begin.take(choice), stride.take(choice)
        lowered.append(Lowered(pattern.take(choice), products.take(choice), list(patterns)))
    return Kind(lowered, begins, strides, ruled, {})


def _launches_by_path(
    family: Family, number: int, slots: tuple[int, ...], sizes: Ints, gpu: GPU
) -> list[Walked]:
    """The launches of a signature for each column of `sizes` [slots, choices], path by path. The
    launches of a signature without varying sizes are cached with the family."""
    full: list[Any] = sizes[:, 0].tolist()

    def launched(numbers: list[Any]) -> Launched:
        for slot, value in zip(slots, numbers, strict=True):
            full[slot] = value
        return _launched(family, number, full, gpu)

    if slots:
        return walked(launched, sizes[list(slots)])
    fixed = _FIXED.get(family, dict[int, Launched], kind_of(gpu))
    if number not in fixed:
        fixed[number] = launched([])
    return [Walked(fixed[number], np.zeros(1, np.int64))]


def _launched(family: Family, number: int, sizes: list[Any], gpu: GPU) -> Launched:
    signature = family.signature(number, sizes)
    costed = gpu_works(signature)
    launches = lower_op(signature, costed, gpu) if costed else []
    few = len(launches) <= _FEW or bool(family.varying[number])
    distinct: dict[int | bytes, int] = {}
    works: list[Work] = []
    places: list[int] = []
    for work in launches:  # equal works are the same object, or in long lists equal in value
        key = id(work) if few else msgspec.msgpack.encode(work)
        if key not in distinct:
            distinct[key] = len(works)
            works.append(work)
        places.append(distinct[key])
    products = any(work.family in ("gemm", "gemv") for work in works)
    pattern = Pattern(tuple(places), inner_ops(signature, launches))
    return Launched(tuple(works), tuple(map(curve, works)), pattern, products)


def _slot_kind(family: Family, slot: int) -> tuple[str, int]:
    """A name that slots with proportional sizes share, and the first such slot."""
    named = _SLOT_KINDS.get(family, dict[str, tuple[str, int]])
    terms = family.expressions[slot].terms
    name = repr(terms[0][1]) if len(terms) == 1 else repr(terms)
    return named.setdefault(name, (name, slot))


def _distinct_choices(sizes: Ints, slots: list[int]) -> tuple[Ints, Ints]:
    """The first point of each distinct choice of these sizes, and the choice of each point."""
    code = np.zeros(sizes.shape[1], np.int64)
    for slot in slots:
        values, index = np.unique(sizes[slot], return_inverse=True)
        _, code = np.unique(code * len(values) + index.ravel(), return_inverse=True)
    _, first, choice = np.unique(code, return_index=True, return_inverse=True)
    return first, choice.ravel()
