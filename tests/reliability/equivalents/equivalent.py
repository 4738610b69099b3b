"""A mutant that changes no result."""

from __future__ import annotations

from typing import NamedTuple


class Equivalent(NamedTuple):
    """A file, the change of one of its lines, the line with the change, and the proof."""

    path: str
    change: str
    line: str
    why: str
