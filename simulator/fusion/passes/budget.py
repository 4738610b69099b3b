"""The memory budget of tensors kept for the backward pass: `choose_saved_values_set` of
torch/_functorch/partitioners.py, with `activation_memory_budget` of torch/_functorch/config.py."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from simulator.caches.cancelling import check_cancelled
from simulator.costs import works
from simulator.fusion.passes.banning import Bans, banned
from simulator.fusion.passes.cut import tensors_to_keep
from simulator.fusion.passes.joint import FAR, Joint
from simulator.fusion.passes.op_types import is_intensive

_PARTS = 10_000  # number of units into which the knapsack divides the budget


def saved_within(joint: Joint, budget: float = 1.0) -> frozenset[int]:
    """The tensors to keep. If possible, they have at most `budget` (a share, 0 to 1) of the bytes
    that the default cut keeps in addition to the step's inputs; 1 gives the default cut.

    Below 1 the heuristics are lifted, those about speed first, then the list of ops. Then banned
    ops whose results exceed the budget run again, those with the fewest FLOPs per byte first (a 0-1
    knapsack). No random op runs again here, whereas torch reruns them with the saved state of its
    generators.
    """
    usual = Bans()
    stopped = banned(joint, usual)
    check_cancelled()
    saved = tensors_to_keep(joint, stopped)
    if budget >= 1 or not (whole := saved_bytes(joint, saved)):
        return saved
    freer = replace(usual, used_far_apart=False, long_chains=False, materialized_backward=False)
    for bans in (freer, replace(freer, not_listed=False)):
        stopped = banned(joint, bans)
        saved = tensors_to_keep(joint, stopped)
        if saved_bytes(joint, saved) < budget * whole:
            return saved
    freest = replace(freer, not_listed=False)
    choices = sorted(
        (
            i
            for i in banned(joint, freest)
            if joint.op_distance[i] < FAR and not joint.draws(i) and not joint.writes_in_place(i)
        ),
        key=lambda i: _result_bytes(joint, i),
        reverse=True,
    )
    sizes = [_result_bytes(joint, i) / whole for i in choices]
    recomputed = _left_out(sizes, [_flops(joint, i) for i in choices], budget)
    return tensors_to_keep(joint, banned(joint, freest, {choices[place] for place in recomputed}))


def saved_bytes(joint: Joint, tensors: Collection[int]) -> int:
    """Bytes of tensors that forward ops write, as the partitioner sums them: views count too."""
    return sum(joint.tensors[t].nbytes for t in tensors if joint.tensors[t].op >= 0)


def _result_bytes(joint: Joint, index: int) -> int:
    return sum(joint.tensors[t].nbytes for t in joint.makes[index])


def _flops(joint: Joint, index: int) -> int:
    """The FLOPs of a product as torch's FlopCounterMode counts them; 1 for any other op."""
    op = joint.trace.ops[index]
    counted = sum(w.flops for w in works(op.signature) or ()) if is_intensive(op) else 0
    return max(counted, 1)


def _left_out(sizes: Sequence[float], values: Sequence[int], most: float) -> list[int]:
    """The items that are not in the most valuable set whose sizes add up to `most` or less
    (`dp_knapsack` of torch/_functorch/_activation_checkpointing/knapsack.py, which adds up values
    in single precision: an item of 1 FLOP has no effect on a sum of 2²⁵)."""
    room = round(most * _PARTS)
    best = np.zeros(room + 1, np.float32)
    choices: list[np.ndarray] = []
    whole = [round(size * _PARTS) for size in sizes]
    for size, value in zip(whole, values, strict=True):
        with_it = np.full(room + 1, -1.0, np.float32)
        if size <= room:
            with_it[size:] = best[: room + 1 - size] + np.float32(value)
        choices.append(with_it > best)
        best = np.maximum(best, with_it)
    left_out: list[int] = []
    for place in reversed(range(len(whole))):
        if choices[place][room]:
            room -= whole[place]
        else:
            left_out.append(place)
    return left_out
