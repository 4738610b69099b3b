"""The jitter between ranks, from two ranks' times of the same steps."""

import math

import numpy as np
import pytest

from calibration.fit.jitter import MEDIAN_OF_THREE, log_ratios, sigma
from simulator.parallel.jitter import jitter


def test_the_packaged_jitter_is_the_fitted_one() -> None:
    ratios = log_ratios()
    assert len(ratios) == 6
    assert jitter().sigma == round(sigma(ratios), 3)


def test_a_known_jitter_is_recovered() -> None:
    """Medians of three of 20,000 blocks on each of two ranks; the logarithm of a block's time has a
    deviation of 0.05."""
    blocks = np.random.default_rng(7).normal(0.0, 0.05, (20_000, 2, 3))
    medians = np.median(blocks, axis=2)
    assert sigma((medians[:, 0] - medians[:, 1]).tolist()) == pytest.approx(0.05, rel=0.02)


def test_one_pair_of_ranks() -> None:
    """ln(1.1) between two ranks: 0.0953 / √2 / 0.6698 = 0.1006."""
    assert sigma([math.log(1.1)]) == pytest.approx(0.1006, abs=1e-4)
    assert pytest.approx(0.6698, abs=1e-4) == MEDIAN_OF_THREE
