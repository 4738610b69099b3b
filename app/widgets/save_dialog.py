"""The dialog that asks where to write a file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

_SUFFIXES = (".csv", ".html", ".json", ".png", ".svg", ".toml")


def ask_where(
    parent: QWidget, title: str, name: str, suffix: str, kind: str = "Files"
) -> Path | None:
    """The path that the user chooses, with `suffix` added or in place of the suffix of another file
    type; None if cancelled. `name` is the offered name, such as "plan.toml"."""
    text, _ = QFileDialog.getSaveFileName(parent, title, name, f"{kind} (*{suffix})")
    if not text:
        return None
    path = Path(text)
    return path.with_suffix(suffix) if path.suffix in _SUFFIXES else Path(f"{text}{suffix}")
