"""The clock that a card's power limit allows a step, and the energy of the step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from simulator.analysis.sweep import sweep
from simulator.costs import Work
from simulator.errors import InputError
from simulator.hardware.gpu import gpu, gpus
from simulator.scenario.scenario import Scenario, predict
from simulator.simulate.step_columns import COLUMNS
from simulator.timing.energies import chip_joules, computing, energies, features
from simulator.timing.kernel_times import NO_SLOWDOWN
from simulator.timing.load import Load
from simulator.timing.power import SettledClock, Supply, supply
from simulator.timing.voltage import Voltage
from simulator.whatif import apply, parse
from tests.simulator.timing.sample_card import MADE_UP, load, made_up
from tests.simulator.whatif.conftest import small_scenario

WIDE = Scenario("mlp-wide", batch=8192, dtype="bf16")  # only matrix products


def test_the_sum_of_a_kernel_that_computes() -> None:
    """1 s and 400 J at the highest clock: 100 + 400 = 500 W. At half of it V is 0.75, the kernel
    takes 2 s, and draws 100 + 0.5625 · 400 / 2 = 212.5 W."""
    kernel = load(1.0, 0.0, 400.0, 0.0)
    free = made_up(500.0).settle(kernel, 0.0, 0.0)
    assert float(free.clock) == 1.0 and not free.is_slower
    assert not made_up(500.0).power(kernel, free, 1.0, 1.0, (1.0, 1.0)).limited
    held = made_up(212.5).settle(kernel, 0.0, 0.0)
    assert float(held.clock) == pytest.approx(0.5, rel=1e-12)
    assert float(held.slowdown.vector) == pytest.approx(2.0, rel=1e-12)
    power = made_up(212.5).power(kernel, held, 2.0, 2.0, (2.0, 2.0))
    assert power.joules == pytest.approx(425) and power.watts == pytest.approx(212.5)
    assert power.limited and power.clock_hz == pytest.approx(0.5e9)
    assert power.joules_interval == (pytest.approx(0.9 * 425), pytest.approx(1.1 * 425))


def test_a_clock_above_the_one_of_the_energies_draws_more_at_rest() -> None:
    """The energies are stated for a clock of 1 GHz, and the card reaches 1.6 GHz. Half its clock is
    0.8 GHz, where V is 0.9: 100 W idle and 50 · 0.8 · 0.81 W awake. A step that waits 1 s longer
    draws 132.4 J."""
    card = Supply(replace(MADE_UP, clocked_w=50, interval=(1.0, 1.0)), 500.0, 500.0, 1.6e9, True)
    held = SettledClock(np.array(0.5), NO_SLOWDOWN)
    power = card.power(load(1.0, 0.0, 0.0, 0.0), held, 1.0, 1.0, (0.0, 2.0))
    assert power.joules == pytest.approx(132.4)
    assert power.joules_interval == pytest.approx((0.0, 264.8))


def test_an_uncertain_period_adds_to_the_interval_of_the_energy() -> None:
    """The interval of the energy is 425 J ± 42.5; at rest, 100 W are 50 J for 0.5 s less, and 200 J
    for 2 s more: √(42.5² + 50²) = 65.62 and √(42.5² + 200²) = 204.47 J."""
    kernel = load(1.0, 0.0, 400.0, 0.0)
    supply = made_up(212.5)
    held = supply.settle(kernel, 0.0, 0.0)
    low, high = supply.power(kernel, held, 2.0, 2.0, (1.5, 4.0)).joules_interval
    assert low == pytest.approx(425 - 65.62, abs=0.01)
    assert high == pytest.approx(425 + 204.47, abs=0.01)


def test_the_voltage_of_tensor_cores_falls_from_the_clock_at_which_they_really_work() -> None:
    """At the highest clock the tensor cores work at 0.8 of it, where V is 0.9; at half of the
    highest clock their speed is 0.75, so they work at 0.6, where V is 0.8: (0.8 / 0.9)² = 64/81 of
    324 J are 256 J. Vector lanes run at half the clock, where V is 0.75: 0.5625 of 64 J are 36 J.
    100 W for 2 s are 200 J: 492 J in total."""
    voltage = Voltage(
        volts=((0.0, 0.5), (1.0, 1.0)),
        speeds=((0.0, 0.5), (1.0, 1.0)),
        tensor_clock=0.8,
    )
    supply = Supply(replace(MADE_UP, voltage=voltage), 500.0, 500.0, 1e9, True)
    kernel = load(1.0, 0.0, 64.0, 0.0, tensor_j=324.0)
    joules = supply.joules(kernel, np.array(0.5), np.array(2.0), np.array(2.0))
    assert float(joules) == pytest.approx(200 + 36 + 256, rel=1e-12)
    at_highest = supply.joules(kernel, np.array(1.0), np.array(1.0), np.array(1.0))
    assert float(at_highest) == pytest.approx(100 + 64 + 324, rel=1e-12)


def test_a_step_draws_power_at_rest_while_busy_and_for_its_work() -> None:
    """A share of 0.625 of 800 MHz is half of the 1 GHz at which energies are stated: V² is 0.5625.
    For 2 s, of which 1.5 s are busy: 100 W · 2 s; (30 W · 2 s + 50 W · 1.5 s) · 0.5 + 64 J = 131.5
    J and 32 J on tensor cores, multiplied by V²; 1e11 bytes at 0.1 nJ are 10 J."""
    known = replace(MADE_UP, clocked_w=30, busy_w=50)
    supply = Supply(known, 500.0, 500.0, 0.8e9, True)
    kernel = load(1.0, 0.0, 64.0, 1e11, tensor_j=32.0)
    joules = supply.joules(kernel, np.array(0.625), np.array(1.5), np.array(2.0))
    assert float(joules) == pytest.approx(200 + 0.5625 * (131.5 + 32) + 10, rel=1e-12)


def test_bytes_in_l2_draw_no_power_of_dram() -> None:
    """Of 1e11 bytes at 0.1 nJ each, a quarter is in L2: 7.5 J, in addition to 100 W for 1 s."""
    alone = load(1.0, 0.0, 0.0, 1e11)
    quarter = Load(alone.roofs, np.array([0.25]), alone.count)
    joules = made_up(500.0).joules(quarter, np.array(1.0), np.array(1.0), np.array(1.0))
    assert float(joules) == pytest.approx(107.5, rel=1e-12)


def test_a_card_skips_clocks_below_its_lowest_voltage() -> None:
    """At a clock of 0.1, V² is 0.3025 and stays so below; 1 s becomes 1 / clock: 100 + 0.3025 · 400
    · clock = 100 + 121 · clock. 111.6 W are met at 11.6 / 121 of the highest clock, and 100.5 W at
    none above 0.01."""
    kernel = load(1.0, 0.0, 400.0, 0.0)
    assert float(made_up(112.2).settle(kernel, 0.0, 0.0).clock) > 0.1
    below = made_up(111.6).settle(kernel, 0.0, 0.0)
    assert float(below.clock) == pytest.approx(11.6 / 121, rel=1e-12)
    assert made_up(111.6).power(kernel, below, 1.0, 121 / 11.6, (1.0, 1.0)).watts == pytest.approx(
        111.6
    )
    assert float(made_up(100.5).settle(kernel, 0.0, 0.0).clock) == 0.01
    # with twice the highest clock, the lowest voltage is reached at half that share of it
    faster = Supply(MADE_UP, 105.0, 500.0, 2e9, True)
    assert float(faster.settle(kernel, 0.0, 0.0).clock) == pytest.approx(5 / 121, rel=1e-12)


def test_carried_energies_draw_no_more_than_the_default_limit() -> None:
    """At 0.4 of the highest clock V is 0.7, and a kernel that takes 1 s at the default limit would
    draw 100 + 0.49 · 4,000 = 2,060 W there: 400 of the 1,960 J are within 500 W. Under 300 W the
    same share is drawn in the time that the lower clock takes."""
    kernel = load(1.0, 0.0, 4000.0, 0.0)
    card = made_up(500.0, measured=False)
    own = card.settle(kernel, 0.0, 0.0)
    assert (float(own.clock), float(own.share)) == (0.4, pytest.approx(400 / 1960))
    assert card.power(kernel, own, 1.0, 1.0, (1.0, 1.0)).watts == pytest.approx(500)
    joules, clock_hz = card.columns(kernel, own, np.ones(1), np.ones(1))
    assert (joules.tolist(), clock_hz) == ([pytest.approx(500)], pytest.approx(0.4e9))
    lower = made_up(300.0, measured=False)
    held = lower.settle(kernel, 0.0, 0.0)
    slower_s = float(held.slowdown.vector)
    assert slower_s == pytest.approx(0.4 / float(held.clock))
    watts = lower.power(kernel, held, slower_s, slower_s, (1.0, 1.0)).watts
    assert watts == pytest.approx(300)


def test_the_joules_of_a_kernel_are_those_of_tensor_cores_and_of_the_rest() -> None:
    """A product with 1000 FLOPs at 2 pJ, 10 bytes at 3 pJ, a launch of 5 pJ, and 7 W for 1 ps."""
    known = replace(
        MADE_UP, tensor_j_per_flop={"bf16": 2e-12}, tensor_w=7.0, l2_j_per_byte=3e-12,
        launch_j=5e-12, instruction_j=4e-12,
    )  # fmt: skip
    product = Work("gemm", 1000, 6, 4, "tensor", "bfloat16")
    loop = Work("pointwise", 1000, 6, 4, instructions=20)
    split = chip_joules([product, loop], None, np.full(2, 1e-12), gpu("h200"), known)
    assert split.tensor_j.tolist() == pytest.approx([2000e-12 + 7e-12, 0.0])
    assert split.chip_j.tolist() == pytest.approx([30e-12 + 5e-12, 30e-12 + 5e-12 + 80e-12])


def test_a_host_that_is_slow_enough_keeps_the_clock() -> None:
    """500 W while it runs, which is 1 s of 2: 100 + 400 / 2 = 300 W."""
    kernel = load(1.0, 0.0, 400.0, 0.0)
    assert float(made_up(300.0).settle(kernel, 2.0, 0.0).clock) == 1.0
    assert float(made_up(299.0).settle(kernel, 2.0, 0.0).clock) < 1.0


def test_a_kernel_that_waits_for_dram_is_not_slowed() -> None:
    """1e12 bytes take 100 J of DRAM at any clock: 100 + V² · 100 + 100 W for 1 s. For 256.25 W, V²
    is 0.5625, at half the clock, and the kernel still takes 1 s."""
    kernel = load(0.2, 1.0, 100.0, 1e12)
    held = made_up(256.25).settle(kernel, 0.0, 0.0)
    assert float(held.clock) == pytest.approx(0.5, rel=1e-12)
    assert float(kernel.busy_s(held.slowdown)) == 1.0


def test_the_clock_below_a_kink_meets_the_limit_exactly() -> None:
    """Below a clock of 0.2 the kernel slows down, so the power falls faster. At 0.12, V is 0.56,
    and 100 · 0.3136 + 100 J take 0.2 / 0.12 s: 100 + 131.36 · 0.6 = 178.816 W."""
    kernel = load(0.2, 1.0, 100.0, 1e12)
    held = made_up(178.816).settle(kernel, 0.0, 0.0)
    assert float(held.clock) == pytest.approx(0.12, rel=1e-12)


def test_times_that_a_limit_had_slowed_already_are_slowed_by_a_lower_one_alone() -> None:
    kernel = load(1.0, 0.0, 600.0, 0.0)  # 700 W at the highest clock
    own = made_up(500.0, measured=False).settle(kernel, 0.0, 0.0)
    assert float(own.clock) < 1.0 and not own.is_slower
    # the kernel still takes one second: 600 J · V² = 400 J, with V = 0.5 + 0.5 · clock
    assert float(own.clock) == pytest.approx(2 * (2 / 3) ** 0.5 - 1, rel=1e-9)
    lower = made_up(400.0, measured=False).settle(kernel, 0.0, 0.0)
    assert float(lower.clock) < float(own.clock)
    assert float(lower.slowdown.vector) == pytest.approx(float(own.clock / lower.clock))


def test_a_limited_step_draws_its_limit_and_its_shares_sum_to_1() -> None:
    p = predict(WIDE)
    assert p.power is not None and p.watts is not None and p.joules is not None
    assert p.power_limited and p.clock_mhz is not None and 1200 < p.clock_mhz < 1800
    assert p.watts == pytest.approx(700 * 0.987, rel=2e-3)  # the measured share of its limit
    assert p.joules == pytest.approx(p.watts * p.period_s)
    assert sum(p.shares.values()) == pytest.approx(1.0, abs=1e-12)


def test_a_lower_limit_costs_time_and_saves_energy() -> None:
    predictions = [predict(apply(WIDE, "power_limit", {"watts": w})) for w in (700, 600, 500)]
    periods, joules = [p.period_s for p in predictions], [p.joules or 0 for p in predictions]
    assert periods == sorted(periods) and joules == sorted(joules, reverse=True)
    for p in predictions:
        assert (p.watts or 0) <= (p.gpu.power_limit_w or 700) * (1 + 1e-9)
    assert predictions[2].period_s > 1.2 * predictions[0].period_s


@pytest.mark.parametrize(("card", "watts"), [("h200", 200.0), ("a100", 110.0)])
def test_many_points_at_once_are_each_alone_where_the_limit_holds(card: str, watts: float) -> None:
    base = apply(
        small_scenario("bert-base", seq=16, dtype="fp16", gpu=card, batch=4096),
        "power_limit",
        {"watts": watts},
    )
    axes: dict[str, list[Any]] = {
        "batch": [1, 7, 512, 8192, 32768],
        "mode": ["eager", "cuda_graph"],
    }
    together, alone = sweep(base, axes), sweep(base, axes, lambda s: predict(s))
    for name in COLUMNS:
        one, other = together.columns[name], alone.columns[name]
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-6)
    clocks = together.columns["clock_hz"]
    assert clocks.min() < clocks.max() == gpu(card).boost_hz


def test_every_rate_twice_is_half_the_time_at_the_clock_that_is_held() -> None:
    before, after = predict(WIDE), predict(apply(WIDE, "rate", {"of": "all", "times": 2.0}))
    assert after.period_s == pytest.approx(before.period_s / 2, rel=1e-9)
    assert after.clock_mhz == before.clock_mhz


def test_cards_of_an_unknown_kind_have_no_power() -> None:
    p = predict(small_scenario("mlp-tiny", gpu="gaudi3"))
    assert (p.power, p.watts, p.joules, p.clock_mhz, p.power_limited) == (None,) * 5
    known = [card.id for card in gpus() if supply(card) is not None]
    assert all(card.id in known for card in gpus() if card.vendor == "NVIDIA" and card.tdp_w)
    nameless = replace(gpu("a100"), id="mine", architecture=None)
    assert energies(nameless) is None and supply(nameless) is None


def test_a_limit_that_cannot_be_is_refused() -> None:
    for watts in ("800", "75", "60", "3", "-5", "100000"):
        with pytest.raises(InputError) as refused:
            apply(WIDE, *parse(f"+power_limit={watts}"))
        assert str(refused.value) == (
            f"power_limit: watts is {watts}: expected more than 75, which H200 SXM 141GB draws "
            "without work, up to its TDP of 700; correct it"
        )
    with pytest.raises(InputError, match=r"watts is nan: expected a finite number; correct it"):
        apply(WIDE, "power_limit", {"watts": float("nan")})
    limited = replace(gpu("h200"), power_limit_w=60.0)  # as a GPU's file may state it
    with pytest.raises(InputError) as low:
        supply(limited)
    assert str(low.value) == (
        "the power limit of H200 SXM 141GB is 60 W, and it draws 75 W without work: expected "
        "more than that, up to 700 W; raise the limit"
    )
    with pytest.raises(InputError, match="the power draw of Intel Gaudi 3 OAM is unknown"):
        apply(Scenario("mlp-wide", gpu="gaudi3"), *parse("+power_limit=500"))
    assert apply(WIDE, *parse("+power_limit=700")) is WIDE


def test_flops_cost_energy_of_their_own_in_products_alone() -> None:
    card = gpu("h200")
    product = Work("gemm", 1000, 30, 10, "tensor", "bfloat16", dims={"fraction": 0.5})
    assert features(product, card) == {"l2_byte": 40, "launch": 1, "tensor_bf16": 500}
    lanes = Work("gemm", 1000, 30, 10, "vector", "float32")
    assert features(lanes, card) == {"l2_byte": 40, "launch": 1, "vector_fp32": 1000}
    # for loops over elements, instructions count; other kernels draw power while they compute
    loop = Work("pointwise", 1000, 30, 10, instructions=70)
    assert features(loop, card) == {"l2_byte": 40, "launch": 1, "instruction": 70}
    assert features(Work("norm", 1000, 30, 10), card) == {"l2_byte": 40, "launch": 1}
    assert [computing(w) for w in (product, lanes, loop, Work("norm"))] == [
        "tensor",
        "",
        "",
        "lanes",
    ]
