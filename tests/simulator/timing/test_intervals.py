from __future__ import annotations

import msgspec
import pytest

from simulator.hardware.gpu import gpu
from simulator.hardware.host import Host, host
from simulator.timing.intervals import interval
from simulator.timing.profile import profile


def test_what_is_compiled_has_an_interval_of_its_own() -> None:
    of = profile()
    assert of.compiled is not None
    assert of.interval_on("h200_sxm", "cuda_graph") == of.interval
    assert of.interval_on("h200_sxm", "compiled") == of.compiled
    # elsewhere the wider end of each: 0.85 < 0.943 and 1.217 > 1.15
    assert of.interval_on("a10", "compiled") == (of.transferred[0], of.compiled[1])


def test_a_profile_without_one_has_the_common_interval() -> None:
    of = msgspec.structs.replace(profile(), compiled=None)
    assert of.interval_on("h200_sxm", "compiled") == of.interval


def ends(card: str, driver: Host, period_s: float, busy_s: float, host_s: float) -> list[float]:
    found = interval(profile(), gpu(card), driver, "eager", period_s, busy_s, host_s)
    return [float(end) for end in found]


def test_the_host_beside_another_gpu_is_uncertain() -> None:
    low, high = profile().transferred
    # the GPU is busy for all of 10 ms, the host for 2: 2 · 3.2 < 10
    assert ends("v100", host(), 10e-3, 10e-3, 2e-3) == pytest.approx([10e-3 * low, 10e-3 * high])
    # the host takes 10 ms: a faster one 6, a V100's 32, an A100's 23, an RTX 5090's 15
    assert ends("v100", host(), 10e-3, 2e-3, 10e-3) == pytest.approx([6e-3 * low, 32e-3])
    assert ends("a100", host(), 10e-3, 2e-3, 10e-3) == pytest.approx([6e-3 * low, 23e-3])
    assert ends("rtx5090", host(), 10e-3, 2e-3, 10e-3) == pytest.approx([6e-3 * low, 15e-3])
    # a faster host leaves the GPU 8 ms
    assert ends("a100", host(), 10e-3, 8e-3, 10e-3)[0] == pytest.approx(8e-3 * low)


def test_a_host_that_is_known_is_as_certain_as_the_gpu() -> None:
    low, high = profile().transferred
    own = msgspec.structs.replace(host(), id="mine")
    assert ends("v100", own, 10e-3, 2e-3, 10e-3) == pytest.approx([10e-3 * low, 10e-3 * high])
    low, high = profile().interval
    assert ends("h200", host(), 10e-3, 2e-3, 10e-3) == pytest.approx([10e-3 * low, 10e-3 * high])
