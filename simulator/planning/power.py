"""The mean power of a card: from the power model, or the card's limit as an upper bound."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.gpu import GPU
from simulator.timing.power import supply

MODELLED = "the power model: steps while busy, an idle process between them"
LIMIT = "an upper bound, the card's limit × its busy share: its power was not measured"


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MeanPower:
    """Mean watts of one card, None if unknown, and the source of the figure."""

    watts: float | None
    source: str


def mean_power(gpu: GPU, busy_w: float, utilisation: float) -> MeanPower:
    """The mean power of a card that is busy for a share `utilisation` of the time and then draws
    `busy_w` watts (NaN if unknown)."""
    card = supply(gpu)
    if card is not None and isfinite(busy_w):
        # clocks stay high while a process is open
        waiting_w = card.known.idle_w + card.known.clocked_w
        return MeanPower(utilisation * busy_w + (1 - utilisation) * waiting_w, MODELLED)
    if gpu.tdp_w is None:
        return MeanPower(None, "unknown: its file gives no power limit")
    return MeanPower(gpu.tdp_w * utilisation, LIMIT)


def served_w(gpu: GPU, joules: Floats, traced_s: Floats, served_s: Floats) -> Floats:
    """Watts of iterations of `served_s` seconds in an engine, whose traced kernels draw `joules` in
    `traced_s` seconds: a card that waits for the host draws the power of an idle process, and an
    engine that reads the same weights in less time draws more, up to the card's limit. NaN if
    unknown."""
    card = supply(gpu)
    if card is None:
        return np.full_like(joules, np.nan)
    waiting_w = card.known.idle_w + card.known.clocked_w
    return np.minimum((joules + waiting_w * (served_s - traced_s)) / served_s, card.limit_w)
