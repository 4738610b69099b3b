from __future__ import annotations

import msgspec
import pytest

from simulator.hardware.gpu import gpu
from simulator.hardware.host import Host, host
from simulator.timing.intervals import interval
from simulator.timing.profile import profile


def test_compiled_steps_have_their_own_interval() -> None:
    of = profile()
    assert of.compiled is not None
    assert of.interval_on("h200_sxm", "cuda_graph") == of.interval
    assert of.interval_on("h200_sxm", "compiled") == of.compiled
    # on other GPUs, the wider of both ends: 0.85 < 0.929 and 1.15 > 1.129
    assert of.interval_on("a10", "compiled") == (0.85, 1.15)


def test_a_profile_without_one_has_the_common_interval() -> None:
    of = msgspec.structs.replace(profile(), compiled=None)
    assert of.interval_on("h200_sxm", "compiled") == of.interval


DRIVER = msgspec.structs.replace(host(), spread=(0.8, 1.5), spread_with={})
OWN = msgspec.structs.replace(host().slower(1.0), id="mine", spread=(0.9, 1.2))


def ends(card: str, driver: Host, period_s: float, busy_s: float, host_s: float) -> list[float]:
    bounds = interval(profile(), gpu(card), driver, "eager", period_s, busy_s, host_s)
    return [float(end) for end in bounds]


def test_gpu_bound_steps_have_the_interval_of_the_profile() -> None:
    low, high = profile().interval
    # the host takes 2 ms, at most 3: the 10 ms of the GPU decide alone
    assert ends("h200", DRIVER, 10e-3, 10e-3, 2e-3) == pytest.approx([10e-3 * low, 10e-3 * high])


def test_host_bound_steps_have_the_interval_of_the_host() -> None:
    assert ends("h200", DRIVER, 10e-3, 2e-3, 10e-3) == pytest.approx([8e-3, 15e-3])
    assert ends("h200", OWN, 10e-3, 2e-3, 10e-3) == pytest.approx([9e-3, 12e-3])


def test_a_gpu_whose_machines_were_measured_has_its_own_spread() -> None:
    driver = msgspec.structs.replace(DRIVER, spread_with={"h100_sxm": (0.9, 1.7)})
    assert ends("h100", driver, 10e-3, 2e-3, 10e-3) == pytest.approx([9e-3, 17e-3])
    assert ends("h200", driver, 10e-3, 2e-3, 10e-3) == pytest.approx([8e-3, 15e-3])
    # a host of another speed is another machine
    assert ends("h100", driver.slower(1.0), 10e-3, 2e-3, 10e-3) == pytest.approx([8e-3, 15e-3])


def test_a_faster_host_leaves_the_gpu() -> None:
    low, _ = profile().interval
    # 0.8 · 10 ms of the host is less than the GPU's minimum
    assert ends("h200", DRIVER, 10e-3, 9.5e-3, 10e-3)[0] == pytest.approx(9.5e-3 * low)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1.5e-10])
def test_an_interval_is_in_proportion_to_the_step(scale: float) -> None:
    whole = ends("h200", DRIVER, 10e-3, 10e-3, 2e-3)
    part = ends("h200", DRIVER, 10e-3 * scale, 10e-3 * scale, 2e-3 * scale)
    assert part == pytest.approx([end * scale for end in whole], rel=1e-12, abs=0)


def test_neither_end_crosses_the_prediction() -> None:
    # with a sync, the step is bound by both the GPU and the host
    low, high = ends("h200", DRIVER, 12e-3, 8e-3, 9e-3)
    assert low < 12e-3 < high
    # the upper end is 1.5 times the host's 9 ms
    assert high == pytest.approx(12e-3 * 1.5)


@pytest.mark.parametrize(
    ("spread", "low_ms", "high_ms"), [((1.1, 1.5), 10.0, 15.0), ((0.5, 0.9), 5.0, 10.0)]
)
def test_machines_that_are_all_slower_or_all_faster_leave_one_end_at_the_prediction(
    spread: tuple[float, float], low_ms: float, high_ms: float
) -> None:
    driver = msgspec.structs.replace(DRIVER, spread=spread)
    bounds = ends("h200", driver, 10e-3, 2e-3, 10e-3)
    assert bounds == pytest.approx([low_ms * 1e-3, high_ms * 1e-3])


def test_the_host_of_an_older_gpu_is_as_old() -> None:
    # an A100's host takes up to 2.3 / 1.5 times as long, a V100's up to 3.2 / 1.5; an RTX 5090's no
    # longer
    assert ends("a100", DRIVER, 10e-3, 2e-3, 10e-3)[1] == pytest.approx(10e-3 * 2.3 / 1.5)
    assert ends("v100", DRIVER, 10e-3, 2e-3, 10e-3)[1] == pytest.approx(10e-3 * 3.2 / 1.5)
    assert ends("rtx5090", DRIVER, 10e-3, 2e-3, 10e-3)[1] == pytest.approx(15e-3)
    assert ends("v100", OWN, 10e-3, 2e-3, 10e-3)[1] == pytest.approx(12e-3)


def test_a_gpu_of_unknown_capability_counts_as_new() -> None:
    unknown = msgspec.structs.replace(gpu("h100"), compute_capability=None)
    bounds = interval(profile(), unknown, DRIVER, "eager", 10e-3, 2e-3, 10e-3)
    assert [float(end) for end in bounds] == ends("h100", DRIVER, 10e-3, 2e-3, 10e-3)


def test_an_empty_step_has_an_empty_interval() -> None:
    assert ends("h200", DRIVER, 0.0, 0.0, 0.0) == [0.0, 0.0]


def test_older_cards_have_slower_hosts() -> None:
    # the default host's factor is at most 1.5; that of an A100's host was 2.3
    assert ends("h100", DRIVER, 10e-3, 2e-3, 10e-3)[1] == pytest.approx(15e-3)
    assert ends("a100", DRIVER, 10e-3, 2e-3, 10e-3)[1] == pytest.approx(10e-3 * 2.3 / 1.5)
    assert ends("v100_sxm2_32", DRIVER, 10e-3, 2e-3, 10e-3)[1] == pytest.approx(10e-3 * 3.2 / 1.5)
    assert ends("a100", OWN, 10e-3, 2e-3, 10e-3)[1] == pytest.approx(12e-3)


@pytest.mark.parametrize(("card", "slower_ms"), [
    # compute capability 9.0 and above: as the default host; 8.0 and above: 2.3 / 1.5; below: 3.2 /
    # 1.5
    ("h100_pcie", 15.0), ("b200", 15.0), ("a100_sxm_80", 23 / 1.5), ("l4", 23 / 1.5),
    ("rtx4090", 23 / 1.5), ("t4", 32 / 1.5), ("v100_pcie_16", 32 / 1.5),
])  # fmt: skip
def test_hosts_of_older_gpus_may_be_slower_by_their_capability(card: str, slower_ms: float) -> None:
    assert ends(card, DRIVER, 10e-3, 0.1e-3, 10e-3)[1] == pytest.approx(slower_ms * 1e-3)
