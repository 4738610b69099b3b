"""The clock of a rank's card and its power, collectives included."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.hardware.gpu import GPU
from simulator.parallel.prediction import RankPrediction
from simulator.timing.load import Exchange, Load
from simulator.timing.power import Power, SettledClock, Supply, supply


@dataclass(frozen=True)
class RankLoad:
    """The kernels of a rank, its collectives, and the clock at which they keep the card's power
    limit; `card` and `settled` are None if its energies are unknown."""

    load: Load
    moved: Exchange
    card: Supply | None
    settled: SettledClock | None

    def power(
        self, rank: RankPrediction, period_s: float, interval_s: tuple[float, float]
    ) -> Power | None:
        """The power of the rank's card in a step of the whole group. While a collective waits for
        another rank, its kernel polls."""
        if self.card is None or self.settled is None:
            return None
        exchange = replace(
            self.moved,
            exposed_s=rank.exposed_communication_s + rank.waiting_alone_s,
            running_s=rank.communication_s + rank.waiting_s,
        )
        busy_s = rank.gpu_busy_s - rank.exposed_communication_s
        return self.card.power(self.load, self.settled, busy_s, period_s, interval_s, exchange)


def rank_load(load: Load, gpu: GPU, host_s: float, moved: Exchange) -> RankLoad:
    """The load of a rank with `host_s` of host work, whose collectives are `moved`."""
    card = supply(gpu)
    return RankLoad(load, moved, card, card and card.settle(load, host_s, 0.0, moved))
