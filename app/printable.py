"""Escape control characters, so that a name in a file cannot control the terminal."""

from __future__ import annotations

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
_SHOWN = {code: text for code, text in _CONTROLS.items() if chr(code) not in "\n\t"}


_LONGEST = 60


def short(text: str) -> str:
    """The start of a long text, for a message."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def printable(text: str) -> str:
    """Replace control characters with Python escapes such as "\\x1b"; keep newlines and tabs."""
    return text.translate(_SHOWN)
