"""Group norms of few large groups, whose blocks read from L2 what the kernel before has written."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from simulator.costs import works
from simulator.hardware.gpu import gpu
from simulator.timing.profile import profile
from simulator.timing.roofline import roofs
from simulator.tracing import trace_call

CARD = gpu("h200")


def moments_us(shape: tuple[int, ...], groups: int, dtype: torch.dtype, hot: float) -> float:
    """Microseconds of the kernel that reads each group for its mean and variance."""

    def make() -> object:
        x = torch.empty(shape, dtype=dtype, device="meta")
        scale = torch.empty(shape[1], dtype=dtype, device="meta")
        return lambda: F.group_norm(x, groups, scale, scale)

    moments = works(trace_call(make).ops[-1].signature)[0]
    parts = roofs([moments], CARD, profile()).parts(np.array([hot]), np.zeros(1))
    return float(parts.duration_s[0] * 1e6)


@pytest.mark.parametrize(
    ("shape", "groups", "dtype", "recorded_us"),
    [
        # recorded in networks from packages, after a convolution; 16 to 21 MB of 50 MB of L2
        ((1, 128, 256, 256), 32, torch.float16, 119.0),
        ((1, 512, 128, 128), 32, torch.float16, 120.0),
        ((4, 512, 2001), 1, torch.float32, 441.8),
        ((4, 128, 16384), 1, torch.float16, 914.8),
        ((1, 96, 55125), 1, torch.float32, 2212.0),
        # smaller ones
        ((1, 256, 128, 128), 32, torch.float16, 61.9),
        ((1, 512, 64, 64), 32, torch.float16, 32.4),
        ((4, 512, 1024), 1, torch.float16, 230.7),
    ],
)
def test_a_group_in_l2_takes_its_recorded_time(
    shape: tuple[int, ...], groups: int, dtype: torch.dtype, recorded_us: float
) -> None:
    assert moments_us(shape, groups, dtype, 1.0) == pytest.approx(recorded_us, rel=0.12)


@pytest.mark.parametrize(
    ("shape", "groups", "dtype", "recorded_us"),
    [
        ((1, 128, 512, 512), 32, torch.float16, 836.2),  # 67 MB
        ((1, 16, 128, 128, 128), 8, torch.float32, 3268.0),
    ],
)
def test_a_group_that_exceeds_l2_takes_its_recorded_time(
    shape: tuple[int, ...], groups: int, dtype: torch.dtype, recorded_us: float
) -> None:
    assert moments_us(shape, groups, dtype, 0.0) == pytest.approx(recorded_us, rel=0.12)


def test_no_share_in_l2_makes_a_group_slower_than_from_dram() -> None:
    shape, dtype = (1, 128, 256, 256), torch.float16
    times = [moments_us(shape, 32, dtype, hot) for hot in (0.0, 0.5, 0.75, 1.0)]
    assert max(times) < 1.05 * times[0]
    assert times[-1] < 0.6 * times[0]
