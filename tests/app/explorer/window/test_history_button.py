"""The arrows of the head do what undo and redo do, and say what that is."""

from PySide6.QtGui import QUndoCommand, QUndoStack

from app.explorer.window.history_button import HistoryButton
from app.widgets.drawing import application


def test_an_arrow_follows_the_history() -> None:
    application()
    history = QUndoStack()
    undo = history.createUndoAction(history, "Undo")
    undo.setShortcut("Ctrl+Z")
    back = HistoryButton(undo, False)
    forth = HistoryButton(history.createRedoAction(history, "Redo"), True)
    assert not back.isEnabled() and back.toolTip() == "Undo (Ctrl+Z)"
    history.push(QUndoCommand("batch 128"))
    assert back.isEnabled() and back.toolTip() == "Undo batch 128 (Ctrl+Z)"
    assert back.accessibleName() == "Undo batch 128" and not forth.isEnabled()
    back.click()
    assert not back.isEnabled() and forth.accessibleName() == "Redo batch 128"
    left, right = back.grab().toImage(), forth.grab().toImage()
    assert left != right  # one turns back, the other forward
