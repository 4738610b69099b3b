"""The signatures of a family at many points: made, costed and lowered along each path that the
code for one op takes, for all the points on it at once (`simulator.varying`).

What is made of a list of points is kept with the family: the next question is often about another
card, host or mode at the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.lowering.lower import _costed, _launches
from simulator.symbols.family import Family
from simulator.timing.profile import Profile
from simulator.timing.roofline import Roofs, Ruled, curve, roofs_of
from simulator.varying import Walked, walked

Ints = NDArray[np.int64]

_FEW = 8  # launches of an ordinary op
_GRIDS = 16  # lists of points of which something is kept with a family: a search asks several
_POINTS = 1 << 14  # of them all
_TABLES = 8  # cards whose roofs are kept with a list


class Launched(NamedTuple):
    """What a signature launches on a kind of GPU: its distinct works and their curves, and that of
    each launch; `products` says whether a library's workspace is used
    (`prediction.workspace_bytes`)."""

    works: tuple[Work, ...]
    curves: tuple[str, ...]
    places: tuple[int, ...]
    products: bool


class Lowered(NamedTuple):
    """A signature at each point: a number for each way of launching its works, whether they use a
    workspace [points], and what each way launches."""

    pattern: Ints
    products: NDArray[np.bool_]
    places: list[tuple[int, ...]]


class Kind(NamedTuple):
    """A family's signatures on a kind of GPU, and the works that all points launch. A table of
    their roofs has the first work of each signature at each point in row `begin`, and the next
    ones `stride` rows further each [signatures, points]."""

    lowered: list[Lowered]
    begin: Ints
    stride: Ints
    ruled: list[Ruled]


@dataclass(eq=False)
class Grid:
    """A list of points: the sizes of a family there [slots, points]; what each kind of GPU
    launches; and the roofs of that by card and profile."""

    family: Family
    sizes: Ints
    kinds: dict[Any, Kind] = field(default_factory=dict[Any, Kind])
    tables: list[tuple[GPU, Profile, Roofs]] = field(
        default_factory=list[tuple[GPU, Profile, Roofs]]
    )

    def on(self, gpu: GPU) -> Kind:
        """The launches on a GPU of this kind."""
        kind = kind_of(gpu)
        if kind not in self.kinds:
            self.kinds[kind] = _kind(self.family, self.sizes, gpu)
        return self.kinds[kind]

    def roofs(self, gpu: GPU, profile: Profile, warm: Callable[[int], NDArray[np.bool_]]) -> Roofs:
        """The table whose rows `Kind` names; `warm` says which of so many find anything in
        L2."""
        for card, known, table in self.tables:
            if card is gpu and known is profile:
                return table
        ruled = self.on(gpu).ruled
        found = roofs_of(ruled, gpu, profile, warm(sum(each.points for each in ruled)))
        self.tables.append((gpu, profile, found))
        del self.tables[:-_TABLES]
        return found


_GRIDS_OF = Derived[dict[bytes, Grid]]()
_FIXED = Derived[Launched]()
_SLOT_KINDS = Derived[dict[str, tuple[str, int]]]()


def kind_of(gpu: GPU) -> tuple[object, ...]:
    """What the launches on a GPU depend on."""
    return gpu.units, gpu.compute_capability, gpu.vendor, tuple(gpu.tensor_flops_per_s)


def grid(family: Family, sizes: Ints) -> Grid:
    """The points at which the slots have these sizes, [slots, points]."""
    grids = _GRIDS_OF.get(family, dict[bytes, Grid])
    asked = sizes.tobytes()
    if asked not in grids:
        while grids and (
            len(grids) >= _GRIDS
            or sum(each.sizes.shape[1] for each in grids.values()) + sizes.shape[1] > _POINTS
        ):
            grids.pop(next(iter(grids)))
        grids[asked] = Grid(family, sizes)
    return grids[asked]


def _kind(family: Family, sizes: Ints, gpu: GPU) -> Kind:
    parted: dict[Any, tuple[Ints, Ints]] = {}
    lowered: list[Lowered] = []
    begins, strides = np.empty((2, len(family.varying), sizes.shape[1]), np.int64)
    ruled: list[Ruled] = []
    rows = 0
    for number, slots in enumerate(family.varying):
        kinds = tuple(sorted({_vary(family, slot) for slot in slots}))
        if kinds not in parted:
            parted[kinds] = _parted(sizes, [slot for _, slot in kinds])
        first, of = parted[kinds]
        begin, stride, pattern = (np.empty(first.size, np.int64) for _ in range(3))
        products = np.empty(first.size, np.bool_)
        ways: dict[tuple[int, ...], int] = {}
        for launched, choices in _walked(family, number, slots, sizes[:, first], gpu):
            begin[choices] = rows + np.arange(choices.size)
            stride[choices] = choices.size
            pattern[choices] = ways.setdefault(launched.places, len(ways))
            products[choices] = launched.products
            for work, name in zip(launched.works, launched.curves, strict=True):
                ruled.append(Ruled(work, name, choices.size))
                rows += choices.size
        begins[number], strides[number] = begin[of], stride[of]
        lowered.append(Lowered(pattern[of], products[of], list(ways)))
    return Kind(lowered, begins, strides, ruled)


def _walked(
    family: Family, number: int, slots: tuple[int, ...], sizes: Ints, gpu: GPU
) -> list[Walked]:
    """What a signature launches at each choice of its sizes [slots, choices], path by path; what
    never varies is kept with the family."""
    full: list[Any] = sizes[:, 0].tolist()

    def ask(numbers: list[Any]) -> Launched:
        for slot, value in zip(slots, numbers, strict=True):
            full[slot] = value
        return _launched(family, number, full, gpu)

    if slots:
        return walked(ask, sizes[list(slots)])
    fixed = _FIXED.get(family, lambda: ask([]), (number, kind_of(gpu)))
    return [Walked(fixed, np.zeros(1, np.int64))]


def _launched(family: Family, number: int, sizes: list[Any], gpu: GPU) -> Launched:
    signature = family.signature(number, sizes)
    costed = _costed(signature)
    found = _launches(signature, costed, gpu) if costed else []
    few = len(found) <= _FEW or bool(family.varying[number])
    distinct: dict[int | bytes, int] = {}
    works: list[Work] = []
    places: list[int] = []
    for work in found:  # equal launches are told by identity, those of long lists by value
        key = id(work) if few else msgspec.msgpack.encode(work)
        if key not in distinct:
            distinct[key] = len(works)
            works.append(work)
        places.append(distinct[key])
    products = any(work.family in ("gemm", "gemv") for work in works)
    return Launched(tuple(works), tuple(map(curve, works)), tuple(places), products)


def _vary(family: Family, slot: int) -> tuple[str, int]:
    """What tells the values of a slot apart: of all multiples of one product, the first slot."""
    named = _SLOT_KINDS.get(family, dict[str, tuple[str, int]])
    terms = family.expressions[slot].terms
    name = repr(terms[0][1]) if len(terms) == 1 else repr(terms)
    return named.setdefault(name, (name, slot))


def _parted(sizes: Ints, slots: list[int]) -> tuple[Ints, Ints]:
    """A point for each distinct choice of these sizes, and which choice each point has."""
    code = np.zeros(sizes.shape[1], np.int64)
    for slot in slots:
        values, each = np.unique(sizes[slot], return_inverse=True)
        _, code = np.unique(code * len(values) + each.ravel(), return_inverse=True)
    _, first, of = np.unique(code, return_index=True, return_inverse=True)
    return first, of.ravel()
