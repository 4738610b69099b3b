"""The cached work of signatures, which a search for fused kernels looks up repeatedly."""

from __future__ import annotations

from functools import partial

from simulator.caches.identity import ByIdentity
from simulator.costs import Work, works
from simulator.records import Signature

_WORKS: ByIdentity[tuple[Work, ...] | None] = ByIdentity(4096)


def costed(op: Signature) -> tuple[Work, ...] | None:
    """`simulator.costs.works`, cached by the identity of the signature."""
    return _WORKS.get(op, None, partial(works, op))
