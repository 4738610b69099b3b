"""The signatures of a family at many points: each distinct one is made, costed and lowered once.

What is made is kept with the family: the next points, cards and clocks share most of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.hardware import GPU
from simulator.lowering.lower import _costed, _launches
from simulator.records import Signature
from simulator.symbols.family import Family

Ints = NDArray[np.int64]

_FEW = 8  # launches of an ordinary op
_MOST = 100_000  # signatures that are kept with a family


class Launched(NamedTuple):
    """What a signature launches on a kind of GPU: its distinct works, and that of each launch;
    `products` says whether a library's workspace is used (`prediction.workspace_bytes`)."""

    works: tuple[Work, ...]
    places: tuple[int, ...]
    products: bool


@dataclass(eq=False)
class Instance:
    """A signature at one choice of its sizes."""

    signature: Signature
    costed: tuple[Work, ...] | None
    launched: dict[Any, Launched] = field(default_factory=dict[Any, Launched])

    def on(self, gpu: GPU, kind: object) -> Launched:
        """Its launches on a GPU of a kind."""
        if kind not in self.launched:
            found = _launches(self.signature, self.costed, gpu) if self.costed else []
            few = len(found) <= _FEW
            distinct: dict[int | bytes, int] = {}
            works: list[Work] = []
            places: list[int] = []
            for work in found:  # equal launches are told by identity, those of long lists by value
                key = id(work) if few else msgspec.msgpack.encode(work)
                if key not in distinct:
                    distinct[key] = len(works)
                    works.append(work)
                places.append(distinct[key])
            products = any(w.family in ("gemm", "gemv") for w in works)
            self.launched[kind] = Launched(tuple(works), tuple(places), products)
        return self.launched[kind]


def kind_of(gpu: GPU) -> tuple[object, ...]:
    """What the launches on a GPU depend on."""
    return gpu.units, gpu.compute_capability, gpu.vendor, tuple(gpu.tensor_flops_per_s)


class Chosen(NamedTuple):
    """The instances of one signature, and which of them each point has."""

    instances: list[Instance]
    of: Ints


_GRIDS = 4  # lists of points whose instances are kept with a family


def instances(family: Family, sizes: Ints) -> list[Chosen]:
    """For each signature of a family its instances where the slots have these sizes,
    [slots, points]."""
    grids: dict[bytes, list[Chosen]] = family.kept.setdefault("grids", {})
    asked = sizes.tobytes()
    if asked not in grids:
        if len(family.kept.get("instances", ())) > _MOST:
            family.kept.pop("instances")
            family.kept.pop("roofs", None)
            grids.clear()
        while len(grids) >= _GRIDS:
            grids.pop(next(iter(grids)))
        grids[asked] = _instances(family, sizes)
    return grids[asked]


def _instances(family: Family, sizes: Ints) -> list[Chosen]:
    held: dict[Any, Instance] = family.kept.setdefault("instances", {})
    parted: dict[Any, tuple[Ints, Ints]] = {}
    found: list[Chosen] = []
    for number, slots in enumerate(family.varying):
        kinds = tuple(sorted({_kind(family, slot) for slot in slots}))
        if kinds not in parted:
            parted[kinds] = _parted(sizes, [slot for _, slot in kinds])
        first, of = parted[kinds]
        keys = sizes[list(slots)][:, first].T.tolist()
        each: list[Instance] = []
        for place, key in zip(first.tolist(), map(tuple, keys), strict=True):
            if (number, key) not in held:
                held[number, key] = _instance(family, number, sizes[:, place].tolist())
            each.append(held[number, key])
        found.append(Chosen(each, of))
    return found


def _instance(family: Family, number: int, sizes: list[int]) -> Instance:
    signature = family.signature(number, sizes)
    return Instance(signature, _costed(signature))


def _kind(family: Family, slot: int) -> tuple[str, int]:
    """What tells the values of a slot apart: of all multiples of one product, the first slot."""
    named = family.kept.setdefault("kinds of slots", {})
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
