"""The compiler's answer: a schedule, or several if its graph breaks."""

from __future__ import annotations

import msgspec

from simulator.inductor.breaks.pieces import Piece
from simulator.inductor.schedule import Schedule


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `schedule` of a step that is one graph.

    For another step: its `pieces`, whose graphs refer by number to `schedules` (a schedule, or the
    reason why there is none), and in `refused` the reason why it is not a single graph.
    """

    schedule: Schedule | None = None
    pieces: list[Piece] = []
    schedules: list[Schedule | str] = []
    refused: str = ""
