"""Mean residuals of many points at once against those of single works."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.costs import Work
from simulator.timing.residuals import Residual

WORKS = [Work("copy", flops=0, read_bytes=n, write_bytes=0) for n in (1 << 10, 1 << 14, 1 << 20)]


def residual() -> Residual:
    """Copies of 2¹⁰ to 2²⁰ bytes: residuals of 0.1 to 0.5 for copies from DRAM, and −0.1 to −0.5
    from L2."""
    points = [[float(power), hot] for hot in (0.0, 1.0) for power in (10, 14, 20)]
    values = [0.1, 0.3, 0.5, -0.1, -0.3, -0.5]
    return Residual.measured(["bytes", "hot"], [2.0, 0.1], points, values, 0.4, 0.001)


def test_a_work_from_dram_is_above_the_physics_and_from_l2_below() -> None:
    assert residual().of(WORKS, 1) == pytest.approx(
        np.array([[0.1, -0.1], [0.3, -0.3], [0.5, -0.5]]), abs=0.01
    )


def test_points_of_works_at_once_are_the_single_works() -> None:
    alone = residual().of(WORKS, 1)
    together = residual().of(WORKS, 1, [1, 1, 1], np.array([True, False, True]))
    assert together[:, 0] == pytest.approx(alone[:, 0], rel=1e-12)
    assert together[[0, 2], 1] == pytest.approx(alone[[0, 2], 1], rel=1e-12)
