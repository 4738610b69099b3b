"""Steps that a full launch queue cannot slow, from the times of blocks of kernels.

`steady_state.bounds` compares paths at every kernel. Here a block represents its kernels: on the
GPU, and in the host's work, they begin no earlier than the first kernel of the block and end no
later than the last one. If the comparisons hold for these bounds, they hold for every kernel, and
the comparison of a step with thousands of kernels in a hundred classes is a product of two small
matrices. If they do not hold, the result is unknown.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.schedule.steady_state import NUDGED
from simulator.schedule.timeline import Clock, Floats, Ints, Launches
from simulator.timing.products import product

_BLOCK = 64  # kernels
_ROUNDING = 1e-9  # relative to a step, far above the rounding errors of sums


class Straight(NamedTuple):
    """`exact` is True at points where no path through a full queue is the longest; `alone_s` is the
    end of a single step on the GPU, without a sync [points]."""

    exact: NDArray[np.bool_]
    alone_s: Floats


def straight(launched: Launches, clock: Clock, class_of: Ints, times: Floats) -> Straight:
    """Compare the bounds of blocks, given the class of each kernel and the seconds of each class
    [classes, points]; the durations in `launched` are not used, and its other times are those of
    all points."""
    count, points = class_of.size, times.shape[1]
    if launched.sync_after.any():
        return Straight(np.zeros(points, np.bool_), np.zeros(points))
    latency, gap = float(clock.latency_s), float(clock.gap_s)
    begins = np.arange(0, count, _BLOCK)
    sizes = np.diff(begins, append=count)
    issued_s = np.cumsum(launched.host_s)
    after = np.cumsum(product(_members(class_of, len(times)), times) + sizes[:, None] * gap, axis=0)
    before = np.zeros_like(after)
    before[1:] = after[:-1]
    step, slots = issued_s[-1] + float(launched.tail_s), after[-1]
    rounding = _ROUNDING * np.maximum(step, slots)
    ahead_s = before - issued_s[begins + sizes - 1][:, None]
    done = np.cumsum(times[class_of[:_BLOCK]] + gap, axis=0)[:-1]
    first_s = (np.concatenate([np.zeros((1, points)), done]) - issued_s[:_BLOCK, None]).min(axis=0)
    exact = (ahead_s[1:] >= first_s + rounding).all(axis=0)
    # The other end is `depth` kernels later, perhaps in a later step.
    turns, at = np.divmod(begins + clock.depth, count)
    later_s = (issued_s[at] + turns * step)[:, None] - after
    grows, slack = slots - step, latency + NUDGED * slots + rounding
    by_gpu = _least(ahead_s, grows)[at // _BLOCK] + turns[:, None] * grows + later_s
    by_host = _least(later_s, -grows) + ahead_s
    exact &= (
        ((clock.depth // count - 1) * np.maximum(step, slots) >= latency)
        | ((grows >= 0) & (by_gpu >= slack).all(axis=0))
        | ((-grows >= NUDGED * slots) & (by_host >= slack).all(axis=0))
    )
    return Straight(exact, latency - first_s + slots - gap)


def _members(class_of: Ints, classes: int) -> Floats:
    """The number of kernels of each class in each block [blocks, classes]."""
    blocks = -(-class_of.size // _BLOCK)
    cells = np.arange(class_of.size) // _BLOCK * classes + class_of
    return np.bincount(cells, minlength=blocks * classes).reshape(blocks, classes).astype(float)


def _least(values: Floats, each: Floats) -> Floats:
    """The minimum over each block and all later ones [blocks, points], over all steps, of values
    that grow by `each` ≥ 0 per step."""
    on = np.minimum.accumulate(values[::-1], axis=0)[::-1]
    return np.minimum(on, on[:1] + each)
