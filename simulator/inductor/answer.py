"""What the real compiler answered: a schedule, or several where it leaves its graph."""

from __future__ import annotations

import msgspec

from simulator.inductor.pieces import Piece
from simulator.inductor.schedule import Schedule


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schedule of a step that is one graph. Of another step its `pieces`, whose graphs name
    their schedules by number: one of `schedules`, or why there is none; and `refused`, why it is
    no single graph."""

    schedule: Schedule | None = None
    pieces: list[Piece] = []
    schedules: list[Schedule | str] = []
    refused: str = ""
