"""What is printed: text in which no name from a file can steer the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from app.printable import printable


class Terminal(Console):
    """A console whose own styles are the only escapes that it writes."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """The segments of what is to be printed, their text printable."""
        for segment in super().render(renderable, options):
            plain = segment.control or segment.text.isprintable()
            yield segment if plain else Segment(printable(segment.text), segment.style)
