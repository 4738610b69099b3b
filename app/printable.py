"""Text from elsewhere as it may be shown: no name in it can steer a terminal."""

from __future__ import annotations

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
_SHOWN = {code: text for code, text in _CONTROLS.items() if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    """Control characters as they are written in Python, "\\x1b" for an escape; lines stay lines."""
    return text.translate(_SHOWN)
