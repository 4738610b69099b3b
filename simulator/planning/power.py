"""The power that a card draws on average: the power model's, or the card's limit as a bound."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from simulator.hardware.gpu import GPU
from simulator.timing.power import supply

MODELLED = "the power model's, of its steps while busy and of an idle process between them"
LIMIT = "the card's limit × its busy share, an upper bound: its energies are unknown"


@dataclass(frozen=True)
class MeanPower:
    """Mean watts of one card, None if unknown, and where they come from."""

    watts: float | None
    source: str


def mean_power(gpu: GPU, busy_w: float, utilisation: float) -> MeanPower:
    """What a card draws that works this share of the time, and then draws `busy_w` (NaN: not
    known)."""
    card = supply(gpu)
    if card is not None and isfinite(busy_w):
        waiting_w = card.known.idle_w + card.known.clocked_w  # a process holds the card
        return MeanPower(utilisation * busy_w + (1 - utilisation) * waiting_w, MODELLED)
    if gpu.tdp_w is None:
        return MeanPower(None, "unknown: its file gives no power limit")
    return MeanPower(gpu.tdp_w * utilisation, LIMIT)
