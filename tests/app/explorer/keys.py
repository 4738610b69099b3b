"""Text typed into a field."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget


def typed(at: QWidget, text: str) -> None:
    """Replace the text of a field by typing, and press Enter."""
    at.setFocus()
    QTest.keyClick(at, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(at, Qt.Key.Key_Backspace)
    QTest.keyClicks(at, text)
    QTest.keyClick(at, Qt.Key.Key_Return)
