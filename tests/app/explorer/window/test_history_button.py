"""The history is visible: the arrows of the header name a change, and a dialog lists all
changes.
"""

from PySide6.QtGui import QUndoCommand, QUndoStack
from PySide6.QtWidgets import QWidget
from shiboken6 import delete

from app.explorer.window.dialogs.history import HistoryDialog
from app.explorer.window.history_button import HistoryButton
from app.explorer.window.window import Window
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
    assert left != right  # one arrow points back, the other forward


def test_a_click_in_the_list_goes_to_a_change() -> None:
    application()
    history, parent = QUndoStack(), QWidget()
    for name in ("batch 128", "GPU L4", "+cuda_graph"):
        history.push(QUndoCommand(name))
    shown = HistoryDialog(history, parent).list
    model = shown.model()
    names = [model.index(row, 0).data() for row in range(model.rowCount())]
    assert names == ["Start of the session", "batch 128", "GPU L4", "+cuda_graph"]
    assert shown.currentIndex().row() == 3
    shown.setCurrentIndex(model.index(1, 0))
    assert history.index() == 1
    history.redo()
    assert shown.currentIndex().row() == 2


def test_the_list_follows_changes_and_their_names() -> None:
    application()
    history, parent = QUndoStack(), QWidget()
    shown = HistoryDialog(history, parent).list
    change = QUndoCommand("batch 65")
    history.push(change)
    change.setText("batch 80")  # as the session does during a drag
    history.undoTextChanged.emit(history.undoText())
    history.push(QUndoCommand("GPU L4"))
    history.undo()
    names = [shown.item(row).text() for row in range(shown.count())]
    assert names == ["Start of the session", "batch 80", "GPU L4"]
    assert shown.currentRow() == history.index() == 1


def test_the_arrows_follow_the_history_after_its_dialog_is_closed(window: Window) -> None:
    window.session.reset(window.session.state)
    dialog = HistoryDialog(window.session.history, window)
    dialog.show()
    dialog.close()
    delete(dialog)  # as Qt does after its next events
    window.toggle_theme()
    assert window.head.undo.isEnabled()
    window.head.undo.click()
    assert window.head.redo.isEnabled() and not window.head.undo.isEnabled()
    assert window.shortcuts.actions["Redo"].isEnabled()
