"""The dialog that asks where to write a file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

_SUFFIXES = (".csv", ".html", ".json", ".png", ".ridge", ".svg", ".toml")


def ask_where(
    parent: QWidget, title: str, name: str, suffix: str, kind: str = "Files"
) -> Path | None:
    """The path that the user chooses, with `suffix` added or in place of the suffix of another file
    type; None if cancelled. `name` is the offered name, such as "plan.toml"."""
    text, _ = QFileDialog.getSaveFileName(parent, title, name, f"{kind} (*{suffix})")
    if not text:
        return None
    chosen = Path(text)
    path = chosen.with_suffix(suffix) if chosen.suffix in _SUFFIXES else Path(f"{text}{suffix}")
    if path == chosen or not path.exists() or _replaces(parent, title, path):
        return path  # the dialog itself asks before it returns the name of a file
    return None


def _replaces(parent: QWidget, title: str, path: Path) -> bool:
    """Ask whether to replace a file that the user named without its suffix."""
    question = f"{path.name} already exists in {path.parent}.\nReplace it?"
    yes, no = QMessageBox.StandardButton.Yes, QMessageBox.StandardButton.No
    return QMessageBox.question(parent, title, question, yes | no, no) == yes
