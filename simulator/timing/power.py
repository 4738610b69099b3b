"""The power that a step draws, and its clock under the card's power limit.

    power(clock) = idle + V² · (awake · clock + chip's joules / period)
                   + T² · tensor cores' joules / period + (DRAM's + links' joules) / period

At a lower clock, the voltages V and T are lower and compute-bound kernels are slower; kernels that
wait for DRAM are not. T falls less than V, because the voltage of busy tensor cores already droops
at the highest clock. The limit holds over tens of milliseconds, so that a step of light and heavy
kernels is limited as a whole: one clock for all of them, at which the mean power is the limit. The
period includes the time in which only collectives run (`Exchange`).

On cards whose energy was measured, kernels were timed at the highest clock. On others, times are
based on public measurements (`sustained_*`) that the card's own limit had already slowed: only the
further slowdown of a lower limit is added. Their energies are carried over from the measured card,
and may be too high for the limit even at a low clock; then a step draws what the limit allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.timing.energies import Energies, Interval, energies, is_measured
from simulator.timing.kernel_times import NO_SLOWDOWN, Slowdown
from simulator.timing.load import NO_EXCHANGE, Exchange, Load

Floats = NDArray[np.float64]
_TURNS = 80
_CLOSE = 1e-13  # accepted error of the power, relative to the limit
_LOWEST = 0.01
"""The lowest clock, as a share of the highest. Below its lowest voltage, a card is assumed to skip
clock cycles, so that it draws no more than its limit."""
_SUSTAINED = 0.4
"""The lowest clock, as a share of the highest, that a card whose energy was not measured is assumed
to sustain under its default limit. Data sheets state base clocks of 0.37 (T4) to 0.54 (A100 SXM) of
the highest."""


@dataclass(frozen=True)
class SettledClock:
    """The clock at which a step's mean power is within the limit, as a share of the highest
    [points], and the slowdown that it brings. `share` of the energies that were carried over from
    the measured card is within the card's default limit [points]."""

    clock: Floats
    slowdown: Slowdown
    share: float | Floats = 1.0

    @property
    def is_slower(self) -> bool:
        """Whether any point is slower than at the clock at which its kernels were timed."""
        return bool((np.asarray(self.slowdown.vector) > 1).any())


class _Issue(NamedTuple):
    """What a step's period depends on besides its kernels [points]: seconds of host work, seconds
    between kernels, and collectives."""

    on_host_s: float | Floats
    gaps_s: float | Floats
    exchange: Exchange

    def period_s(self, busy_s: Floats) -> Floats:
        return np.maximum(self.on_host_s, busy_s + self.gaps_s + self.exchange.exposed_s)


@dataclass(frozen=True)
class Power:
    """The mean power of a step in steady state, with its card's limit.

    watts       power of the whole card
    joules      energy of a step; joules_interval is its 80% interval
    clock_hz    clock under the limit; the times of kernels are for this clock
    highest_hz  highest clock of the card
    settled     the clock and its slowdown, to predict another step at the same clock
    """

    watts: float
    joules: float
    joules_interval: Interval
    clock_hz: float
    highest_hz: float
    limit_w: float
    settled: SettledClock

    @property
    def limited(self) -> bool:
        """Whether the limit lowers the clock."""
        return self.clock_hz < self.highest_hz


@dataclass(frozen=True)
class Supply:
    """A card's energies, its current power limit and its default one, in watts."""

    known: Energies
    limit_w: float
    default_w: float
    highest_hz: float
    measured: bool

    @property
    def _highest(self) -> float:
        return self.highest_hz / self.known.clock_hz

    def joules(
        self,
        load: Load,
        clock: Floats,
        busy_s: Floats,
        period_s: Floats,
        exchange: Exchange = NO_EXCHANGE,
        share: float | Floats = 1.0,
    ) -> Floats:
        """Joules of a step of period `period_s` at a clock [points]; `busy_s` omits collectives.
        `share` is that of `SettledClock`."""
        known = self.known
        awake = known.clocked_w * period_s + known.busy_w * busy_s
        running = awake * self._highest * clock + load.chip_j
        drawn = (
            running * known.voltage.squared(clock * self._highest)
            + load.tensor_j * known.voltage.tensor_squared(clock * self._highest)
            + known.dram_j_per_byte * load.dram_bytes
            + (0.0 if exchange is NO_EXCHANGE else self.exchange_j(exchange, clock))
        )
        return known.idle_w * period_s + share * drawn

    def exchange_j(self, exchange: Exchange, clock: Floats) -> Floats:
        """Joules of collectives at a clock [points], in addition to those of a card that waits."""
        known = self.known
        running = (
            known.busy_w * self._highest * clock * exchange.exposed_s
            + known.collective_w * exchange.running_s
            + known.l2_j_per_byte * exchange.dram_bytes
        )
        return (
            running * known.voltage.squared(clock * self._highest)
            + known.dram_j_per_byte * exchange.dram_bytes
            + known.link_j_per_byte * exchange.link_bytes
        )

    def power(
        self,
        load: Load,
        settled: SettledClock,
        busy_s: float,
        period_s: float,
        period_interval_s: Interval,
        exchange: Exchange = NO_EXCHANGE,
    ) -> Power:
        """The power of one step, in which kernels other than collectives run for `busy_s`. The
        uncertainty of its energy combines two parts as independent: the card's interval, and the
        energy that the card draws at rest during the uncertain part of the period."""
        times_s = np.asarray(busy_s), np.asarray(period_s)
        joules = float(self.joules(load, settled.clock, *times_s, exchange, settled.share))
        known, clock = self.known, float(settled.clock)
        relative = self._highest * clock
        awake_w = known.clocked_w * relative * float(known.voltage.squared(relative))
        low, high = (
            hypot(joules * (of_joules - 1), (known.idle_w + awake_w) * (of_period_s - period_s))
            for of_joules, of_period_s in zip(known.interval, period_interval_s, strict=True)
        )
        return Power(
            watts=joules / period_s if period_s else self.known.idle_w,
            joules=joules,
            joules_interval=(joules - low, joules + high),
            clock_hz=float(settled.clock) * self.highest_hz,
            highest_hz=self.highest_hz,
            limit_w=self.limit_w,
            settled=settled,
        )

    def columns(
        self, load: Load, settled: SettledClock, busy_s: Floats, period_s: Floats
    ) -> tuple[Floats, Floats]:
        """Joules and clock of steps at many points."""
        joules = self.joules(load, settled.clock, busy_s, period_s, share=settled.share)
        return joules, settled.clock * self.highest_hz

    def settle(
        self,
        load: Load,
        on_host_s: float | Floats,
        gaps_s: float | Floats,
        exchange: Exchange = NO_EXCHANGE,
    ) -> SettledClock:
        """The clock under the limit of a step with `on_host_s` of host work, `gaps_s` between its
        kernels, and the collectives of `exchange`."""
        issue = _Issue(on_host_s, gaps_s, exchange)
        if self.measured:
            clock = self._clock(load, self.limit_w, np.asarray(1.0), issue, _LOWEST)
            return SettledClock(clock, self._slowdown(clock, np.asarray(1.0)))
        share = self._share(load, issue)
        own = self._clock(load, self.default_w, np.asarray(0.0), issue, _SUSTAINED, share)
        if self.limit_w >= self.default_w:
            return SettledClock(own, NO_SLOWDOWN, share)
        clock = self._clock(load, self.limit_w, own, issue, _LOWEST, share)
        return SettledClock(clock, self._slowdown(clock, own), share)

    def _share(self, load: Load, issue: _Issue) -> Floats:
        """The share of the carried energies that the default limit allows at the lowest clock that
        is sustained [points]; 1 where they are within the limit."""
        busy_s = load.busy_s()
        period_s = issue.period_s(busy_s)
        at_rest = self.known.idle_w * period_s
        drawn = self.joules(load, np.asarray(_SUSTAINED), busy_s, period_s, issue.exchange)
        allowed = self.default_w * self.known.held * period_s - at_rest
        drawn = drawn - at_rest
        return np.minimum(1.0, np.divide(allowed, drawn, out=np.ones_like(drawn), where=drawn > 0))

    def _slowdown(self, clock: Floats, timed_at: Floats) -> Slowdown:
        speed = self.known.voltage.tensor_speed
        tensor = speed(timed_at) / speed(clock)
        return Slowdown(np.maximum(1.0, timed_at / clock), np.maximum(1.0, tensor))

    def _clock(
        self,
        load: Load,
        limit_w: float,
        timed_at: Floats,
        issue: _Issue,
        lowest: float,
        share: float | Floats = 1.0,
    ) -> Floats:
        """The clock, at least `lowest`, at which the power meets a limit, given the clock at which
        kernels were timed: by false position (Illinois), at all points at once."""

        def over_w(clock: Floats) -> Floats:
            busy_s = load.busy_s(self._slowdown(clock, timed_at))
            period_s = issue.period_s(busy_s)
            joules = self.joules(load, clock, busy_s, period_s, issue.exchange, share)
            return joules / np.where(period_s > 0, period_s, np.inf) - held_w

        held_w = limit_w * self.known.held
        high = np.ones(np.shape(load.chip_j))
        above = over_w(high)
        limited = above > 0
        if not limited.any():
            return high
        low = np.full_like(high, max(lowest, self.known.voltage.volts[0][0] / self._highest))
        below = over_w(low)
        if (limited & (below >= 0)).any():
            low = np.where(below < 0, low, lowest)
            below = over_w(low)
        solvable = limited & (below < 0)
        held_clock = np.where(limited & ~solvable, low, high)
        was = np.zeros(high.shape)
        for _ in range(_TURNS):
            between, width = low * above - high * below, above - below
            held_clock = np.divide(between, width, out=held_clock.copy(), where=solvable)
            value = over_w(held_clock)
            if not (solvable & (np.abs(value) > _CLOSE * limit_w)).any():
                break
            up = value > 0
            high, low = np.where(up, held_clock, high), np.where(up, low, held_clock)
            # The value at an end that stays twice is halved (Illinois); otherwise the end would
            # never move.
            below = np.where(up, np.where(was > 0, below / 2, below), value)
            above = np.where(up, value, np.where(was < 0, above / 2, above))
            was = np.where(up, 1.0, -1.0)
        return held_clock


def supply(gpu: GPU) -> Supply | None:
    """A card's energies and its power limit; None if they are unknown.

    Raises InputError if the limit is below the card's idle power.
    """
    known = energies(gpu)
    if known is None or gpu.tdp_w is None:
        return None
    limit_w = gpu.power_limit_w or gpu.tdp_w
    if limit_w <= known.idle_w:
        raise InputError(
            f"the power limit of {gpu.name} is {limit_w:g} W, and it draws {known.idle_w:.0f} W "
            f"without work: expected more than that, up to {gpu.tdp_w:g} W; raise the limit"
        )
    return Supply(
        known,
        limit_w,
        gpu.tdp_w,
        gpu.boost_hz or known.clock_hz,
        is_measured(gpu),
    )
