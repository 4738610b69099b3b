"""Boundaries of a map lie where the regime changes, not where the points happen to be."""

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.analysis.regimes import RegimeMap, map_of
from simulator.analysis.sweep import Sweep

Floats = NDArray[np.float64]
BATCHES = tuple(2**n for n in range(0, 11))
LENGTHS = tuple(16 * 2**n for n in range(0, 6))
HOST_S, GAPS_S = 10e-3, 1e-3
S_PER_TOKEN = 2e-6


def world(compute: float, overhead: float, host: bool = True) -> RegimeMap:
    """A map of steps whose GPU takes 2 µs per token and 1 ms of gaps, while the host takes 10 ms.
    If a step is GPU-bound, the shares are as given; if it is host-bound, overhead is 1."""
    y, x = np.meshgrid(np.array(LENGTHS, float), np.array(BATCHES, float), indexing="ij")
    busy = S_PER_TOKEN * x * y
    on_gpu = busy + GAPS_S
    limited = (on_gpu < HOST_S) & host
    period = np.where(limited, HOST_S, on_gpu)
    columns: dict[str, Floats] = {
        "period_s": period,
        "gpu_busy_s": busy,
        "host_s": np.full_like(busy, HOST_S if host else 1e-9),
        "compute": np.where(limited, 0.0, compute),
        "overhead": np.where(limited, 1.0, overhead),
    }
    columns["memory"] = 1 - columns["compute"] - columns["overhead"]
    shares = np.stack([columns[n] for n in ("compute", "memory", "overhead")], axis=-1)
    columns["regime"] = np.argmax(shares, axis=-1).astype(float)
    flat = {name: column.ravel() for name, column in columns.items()}
    return map_of(Sweep((), (), flat, {}, {}), "batch", BATCHES, "seq", LENGTHS)


@pytest.mark.parametrize(
    ("compute", "overhead", "between"),
    [
        (0.8, 0.1, ("compute", "overhead")),
        (0.5, 0.1, ("compute", "overhead")),
        (0.2, 0.1, ("memory", "overhead")),
    ],
)
def test_where_the_host_takes_over_is_a_smooth_line(
    compute: float, overhead: float, between: tuple[str, str]
):
    """The host takes over at 9 ms / 2 µs = 4,500 tokens, for any batch and sequence."""
    chart = world(compute, overhead)
    assert [boundary.between for boundary in chart.boundaries] == [between]
    (line,) = chart.boundaries[0].lines
    tokens = line[:, 0] * line[:, 1]
    # the midpoints of the points' jumps, for shares of 0.8, lie between 3,000 and 6,000
    assert tokens == pytest.approx(np.full(len(line), 4500), rel=0.09)


def test_overhead_may_exceed_the_other_shares_on_both_sides_of_the_host():
    assert world(0.3, 0.6).boundaries == ()


def test_shares_decide_where_the_host_never_does():
    free = world(0.8, 0.1, host=False)
    assert free.boundaries == ()
    assert np.array_equal(free.leads.over[0, 2], free.shares[:, :, 0] - free.shares[:, :, 2])


def test_the_largest_lead_is_the_largest_share_at_every_point():
    for compute, overhead in ((0.8, 0.1), (0.2, 0.1), (0.3, 0.6)):
        chart = world(compute, overhead)
        assert np.array_equal(chart.leads.largest(chart.leads.over), chart.regime)
