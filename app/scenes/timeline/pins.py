"""Pinned lanes: they stay at the top of a timeline, as the pinned tracks of Perfetto do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from app.answers.side import Side
from app.scenes.timeline.lanes import Lanes, Slices, lanes

Track = Literal["host", "gpu", "rank"]
MOST_PINS = 6
"""The largest number of pinned lanes."""


@dataclass(frozen=True)
class Pin:
    """A pinned lane. `of` is the letter of the scenario of a host's or a GPU's lane, or the first
    rank of a rank's lane."""

    track: Track
    of: str

    @property
    def name(self) -> str:
        """The name of the lane: "GPU of A", "rank 3"."""
        if self.track == "rank":
            return f"rank {self.of}"
        return f"{'GPU' if self.track == 'gpu' else 'host'} of {self.of}"


Pins = tuple[Pin, ...]


@dataclass(frozen=True)
class PinnedLane:
    """The lane of a pin, with the lanes of its scenario."""

    pin: Pin
    lanes: Lanes

    @property
    def slices(self) -> Slices:
        """The slices of the lane."""
        return self.lanes.gpu if self.pin.track == "gpu" else self.lanes.host


def pinned_lanes(
    pins: Pins, sides: Sequence[Side], drawn: Iterable[Lanes] = ()
) -> tuple[PinnedLane, ...]:
    """The pinned lanes of the predicted sides, in the order of the pins. Lanes in `drawn` are
    reused.
    """
    predictions = {side.letter: side.prediction for side in sides}
    known = {id(each.prediction): each for each in drawn}
    shown: list[PinnedLane] = []
    for pin in pins:
        p = predictions.get(pin.of)
        if pin.track != "rank" and p is not None:
            known[id(p)] = known[id(p)] if id(p) in known else lanes(p)
            shown.append(PinnedLane(pin, known[id(p)]))
    return tuple(shown)


def without_side(pins: Pins, letters: str, place: int) -> Pins:
    """The pins after the side at `place` is removed: its own are dropped, and the sides after it
    move up by one letter."""
    remaining: list[Pin] = []
    for pin in pins:
        at = letters.find(pin.of) if pin.track != "rank" else -1
        if at < 0 or at < place:
            remaining.append(pin)
        elif at > place:
            remaining.append(Pin(pin.track, letters[at - 1]))
    return tuple(remaining)
