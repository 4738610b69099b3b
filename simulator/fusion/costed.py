"""The work of signatures that a search for fused kernels asks of again and again."""

from __future__ import annotations

from functools import partial

from simulator.caches.identity import ByIdentity
from simulator.costs import Work, works
from simulator.records import Signature

_WORKS: ByIdentity[tuple[Work, ...] | None] = ByIdentity(4096)


def costed(op: Signature) -> tuple[Work, ...] | None:
    """As `simulator.costs.works`; cached for the same object."""
    return _WORKS.get(op, None, partial(works, op))
