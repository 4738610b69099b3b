from __future__ import annotations

import pytest

from calibration.record.written_back import Case, cases, figures
from simulator.hardware.gpu import gpu
from simulator.timing import terms


def test_figures_by_hand() -> None:
    card = gpu("h200")
    rate = card.bandwidth_bytes_per_s  # the bandwidth at `dram_reach` = 1
    l2_bytes = card.l2_bytes or 0
    half, thrice = l2_bytes // 2, 3 * l2_bytes
    calls = [
        Case("small", half, half, 1e-5, 1e-5 + 0.4 * half / rate),
        Case("large", thrice, 2 * thrice, 1e-4, 1e-4 + 0.6 * l2_bytes / 2 / rate),
    ]
    # half of the bytes of "large" are read, so half of L2 counts: half of 0.6 of it was written
    # back
    assert figures(calls, card, 1.0) == pytest.approx((0.4, 0.6))


def test_the_constants_equal_the_measurements() -> None:
    # 0.39 and 0.60 on this machine; the constants come from another of the same kind
    evicting, written = figures(cases(), gpu("h200"), dram_reach=0.91)
    assert evicting == pytest.approx(terms._EVICTING, rel=0.15)  # pyright: ignore[reportPrivateUsage]
    assert written == pytest.approx(terms._WRITTEN, rel=0.2)  # pyright: ignore[reportPrivateUsage]


def test_writers_before_cost_readers_time() -> None:
    kernels = cases()
    assert len(kernels) == 25
    assert all(case.dirty_s > case.clean_s for case in kernels)
