"""The signatures of a family at many points: each distinct one is made, costed and lowered once.

What is made is kept with the family: the next points, cards and clocks share most of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.hardware import GPU
from simulator.lowering.lower import _costed, _launches
from simulator.records import Signature
from simulator.symbols.family import Family

Ints = NDArray[np.int64]

_MOST = 100_000  # signatures that are kept with a family


class Launched(NamedTuple):
    """What a signature launches on a kind of GPU: its distinct works, and that of each launch."""

    works: tuple[Work, ...]
    places: tuple[int, ...]


@dataclass(eq=False)
class Instance:
    """A signature at one choice of its sizes. `access_bytes` are of its inputs and outputs."""

    signature: Signature
    access_bytes: list[int]
    costed: tuple[Work, ...] | None
    launched: dict[Any, Launched] = field(default_factory=dict[Any, Launched])

    def on(self, gpu: GPU) -> Launched:
        """Its launches."""
        kind = (gpu.units, gpu.compute_capability, gpu.vendor, tuple(gpu.tensor_flops_per_s))
        if kind not in self.launched:
            works: list[Work] = []
            places: list[int] = []
            for work in _launches(self.signature, self.costed, gpu) if self.costed else ():
                if not (works and works[-1] is work):
                    works.append(work)
                places.append(len(works) - 1)
            self.launched[kind] = Launched(tuple(works), tuple(places))
        return self.launched[kind]


class Chosen(NamedTuple):
    """The instances of one signature, and which of them each point has."""

    instances: list[Instance]
    of: Ints


def instances(family: Family, sizes: Ints) -> list[Chosen]:
    """For each signature of a family its instances where the slots have these sizes,
    [slots, points]."""
    held: dict[Any, Instance] = family.kept.setdefault("instances", {})
    if len(held) > _MOST:
        held.clear()
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
    access_bytes = [t.nbytes for t in (*signature.inputs, *signature.outputs)]
    return Instance(signature, access_bytes, _costed(signature))


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
