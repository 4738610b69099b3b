"""The compiler's answer: a schedule, or several if its graph breaks."""

from __future__ import annotations

import msgspec

from simulator.inductor.breaks.pieces import Piece
from simulator.inductor.schedule import Schedule


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schedules of a step.

    A step that is a single graph has a `schedule`. Any other step has `pieces`: their graphs are
    indices into `schedules`, each a schedule or the reason why Inductor could not make it.
    `refused` is then the reason why the step is not a single graph.
    """

    schedule: Schedule | None = None
    pieces: list[Piece] = []
    schedules: list[Schedule | str] = []
    refused: str = ""
