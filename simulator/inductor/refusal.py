"""Why the real scheduler gave no answer."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.inductor.pieces import Piece


class RefusalError(Exception):
    """The real scheduler cannot answer; the message says why, in words for a user. `pieces` are
    what Dynamo makes of a step that is no single graph, empty where that is not why."""

    def __init__(self, why: str, pieces: Sequence[Piece] = ()) -> None:
        super().__init__(why)
        self.pieces = pieces
