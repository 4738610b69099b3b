"""What is printed: text in which no name from a file can steer the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from app.printable import printable

_PIPED = 160  # columns


class Terminal(Console):
    """A console whose own styles are the only escapes that it writes; a file or a pipe, which has
    no width, is as wide as a report's widest table."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if not self.is_terminal and not os.environ.get("COLUMNS"):
            self.width = _PIPED

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """The segments of what is to be printed, their text printable."""
        for segment in super().render(renderable, options):
            plain = segment.control or segment.text.isprintable()
            yield segment if plain else Segment(printable(segment.text), segment.style)
