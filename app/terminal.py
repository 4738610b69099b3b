"""A console whose text cannot control the terminal, whatever names a file contains."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from app.printable import printable

_PIPED = 160  # columns


class Terminal(Console):
    """A console that writes no escapes except its own styles. A file or a pipe gets the width of
    the widest table of a report."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if not self.is_terminal and not os.environ.get("COLUMNS"):
            self.width = _PIPED

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Render to segments with printable text."""
        for segment in super().render(renderable, options):
            plain = segment.control or segment.text.isprintable()
            yield segment if plain else Segment(printable(segment.text), segment.style)
