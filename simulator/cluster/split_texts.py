"""Descriptions of the splits of a step, for the search and for the explorer."""

from __future__ import annotations

from simulator.formats.numbers import data

_SHOWN = 0.005
"""The smallest share of the period that is named."""


def step_text(exposed: float, waiting: float, needed_bytes: float) -> str:
    """A step by two shares of its period and its memory: "15% exposed communication, 29.8 GiB".

    `exposed` is the share of communication that nothing hides, `waiting` that of waiting for other
    ranks.
    """
    parts = [f"{exposed:.0%} exposed communication"] if exposed >= _SHOWN else []
    if waiting >= _SHOWN:
        parts.append(f"{waiting:.0%} waiting for other ranks")
    return ", ".join([*parts, data(needed_bytes)])


def excess_text(needed_bytes: float, capacity_bytes: float) -> str:
    """Why a split does not fit: "does not fit: 1.2 GiB too much"."""
    return f"does not fit: {data(needed_bytes - capacity_bytes)} too much"
