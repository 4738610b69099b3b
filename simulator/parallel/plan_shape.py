"""Properties of a rank's plan that do not depend on its times: the order of each stream's kernels,
and stretches of kernels that run and are issued one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PlanShape:
    """Lists have one entry for each kernel.

    first      the first kernel of each stream, in order of appearance
    following  the distance to the next kernel of the same stream, perhaps in the next step
    watched    whether another stream or the host waits for the end of a kernel
    plain      the number of consecutive kernels, from this one on, of the same stream, which are no
               collectives, wait for no kernel, and are not watched
    issuable   the number of consecutive kernels, from this one on, of the same stream, after which
               the host does not wait; 0 at both ends of a step
    """

    first: dict[int, int]
    following: list[int]
    watched: list[bool]
    plain: list[int]
    issuable: list[int]


def shape_of(
    stream: Sequence[int],
    after: Sequence[tuple[int, ...]],
    sync_after: Sequence[bool],
    alone: Sequence[bool],
) -> PlanShape:
    """The shape of a plan with these lists; `alone` are the kernels that are not collectives."""
    count = len(stream)
    watched = list(sync_after)
    for kernels in after:
        for k in kernels:
            watched[k if k >= 0 else -1 - k] = True
    first: dict[int, int] = {}
    for k, number in enumerate(stream):
        first.setdefault(number, k)
    following, plain, issuable = [0] * count, [0] * count, [0] * count
    later = {number: k + count for number, k in first.items()}
    run = issued = 0
    for k in range(count - 1, -1, -1):
        number = stream[k]
        following[k] = later[number] - k
        later[number] = k
        if following[k] > 1:
            run = issued = 0
        run = 0 if watched[k] or after[k] or not alone[k] else run + 1
        issued = issued + 1 if 0 < k < count - 1 and not sync_after[k] else 0
        plain[k], issuable[k] = run, issued
    return PlanShape(first, following, watched, plain, issuable)
