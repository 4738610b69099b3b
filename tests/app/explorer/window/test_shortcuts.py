"""Custom shortcuts: assigned, refused if already assigned, stored, and reset."""

from pathlib import Path

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QScrollArea, QToolButton, QWidget

from app.explorer.state.places import FOLDER_VARIABLE, Remembered
from app.explorer.window.dialogs.keys import KeysDialog
from app.explorer.window.shortcuts import Shortcuts, show_shortcut
from app.widgets.drawing import application


@pytest.fixture
def actions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[QAction]:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    application()
    actions: list[QAction] = []
    for name, key in (("Save", "Ctrl+S"), ("Undo", "Ctrl+Z"), ("Quit", "")):
        action = QAction(name)
        action.setObjectName(name)
        action.setShortcut(key)
        actions.append(action)
    return actions


def keys(actions: list[QAction]) -> list[str]:
    return [action.shortcut().toString() for action in actions]


def test_a_key_is_given_and_remembered(actions: list[QAction]) -> None:
    own = Shortcuts([*actions, QAction("of no name")], Remembered())
    assert list(own.actions) == ["Save", "Undo", "Quit"]
    assert own.assign("Quit", QKeySequence("Ctrl+W")) == ""
    assert own.assign("Undo", QKeySequence()) == ""  # none
    assert keys(actions) == ["Ctrl+S", "", "Ctrl+W"]
    assert Remembered.read().keys == {"Quit": "Ctrl+W", "Undo": ""}
    for action, key in zip(actions, ("Ctrl+S", "Ctrl+Z", ""), strict=True):
        action.setShortcut(key)
    again = Shortcuts(actions, Remembered.read())  # at the next start
    assert keys(actions) == ["Ctrl+S", "", "Ctrl+W"]
    assert again.assign("Undo", QKeySequence("Ctrl+Z")) == ""
    assert Remembered.read().keys == {"Quit": "Ctrl+W"}  # default shortcuts are not stored
    again.reset()
    assert keys(actions) == ["Ctrl+S", "Ctrl+Z", ""] and Remembered.read().keys == {}


def test_a_key_that_is_taken_is_refused(actions: list[QAction]) -> None:
    own = Shortcuts(actions, Remembered())
    assert own.assign("Undo", QKeySequence("Ctrl+S")) == (
        "Ctrl+S already belongs to “Save”: choose another, or change that one first"
    )
    assert keys(actions) == ["Ctrl+S", "Ctrl+Z", ""]
    unknown = Remembered(keys={"Gone": "Ctrl+G", "Save": "F9"})
    Shortcuts(actions, unknown)
    assert keys(actions)[0] == "F9"


@pytest.mark.parametrize("key", ["W", "Shift+Right", "Return", "Space"])
def test_keys_of_the_views_are_refused(actions: list[QAction], key: str) -> None:
    own = Shortcuts(actions, Remembered())
    assert own.assign("Undo", QKeySequence(key)) == (
        f"{key} alone is reserved for the views: add Ctrl or Alt, or choose a function key"
    )
    assert keys(actions)[1] == "Ctrl+Z"
    assert own.assign("Undo", QKeySequence("F7")) == ""


def test_a_tooltip_says_the_key_of_the_day(actions: list[QAction]) -> None:
    button, own = QToolButton(), Shortcuts(actions, Remembered())
    show_shortcut(button, "Keep it", actions[0])
    assert button.toolTip() == "Keep it (Ctrl+S)"
    own.assign("Save", QKeySequence("F9"))
    assert button.toolTip() == "Keep it (F9)"
    own.assign("Save", QKeySequence())
    assert button.toolTip() == "Keep it"


def test_tab_and_escape_lead_out_of_a_field(actions: list[QAction]) -> None:
    dialog = KeysDialog(Shortcuts(actions, Remembered()), [])
    dialog.show()
    dialog.fields["Save"].setFocus()
    QTest.keyClick(dialog.fields["Save"], Qt.Key.Key_Tab)
    assert dialog.focusWidget() is dialog.fields["Undo"]
    closed: list[int] = []
    dialog.finished.connect(closed.append)
    QTest.keyClick(dialog.fields["Undo"], Qt.Key.Key_Escape)
    assert closed == [0] and keys(actions) == ["Ctrl+S", "Ctrl+Z", ""]


def test_the_dialog_changes_keys_as_they_are_pressed(actions: list[QAction]) -> None:
    dialog = KeysDialog(Shortcuts(actions, Remembered()), [("F", "fit")])
    dialog.show()
    field = dialog.fields["Quit"]
    assert field.accessibleName() == "Key of Quit"
    QTest.keyClick(field, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert keys(actions)[2] == "Ctrl+K" and "The key of “Quit” has changed" in dialog.message.text()
    QTest.keyClick(dialog.fields["Undo"], Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert keys(actions)[1] == "Ctrl+Z" and "already belongs to “Save”" in dialog.message.text()
    assert dialog.fields["Undo"].keySequence().toString() == "Ctrl+Z"
    QTest.keyClick(dialog.fields["Save"], Qt.Key.Key_Delete)
    assert keys(actions)[0] == ""
    dialog.reset.click()
    assert keys(actions) == ["Ctrl+S", "Ctrl+Z", ""]
    assert dialog.fields["Save"].keySequence().toString() == "Ctrl+S"
    dialog.close()


def test_a_shortcut_stored_under_a_former_name_still_applies():
    action = QAction("Reset layout")
    action.setObjectName("Reset layout")
    remembered = Remembered(keys={"Panels as at first": "Ctrl+R"})
    Shortcuts([action], remembered)
    assert action.shortcut().toString() == "Ctrl+R"
    assert remembered.keys == {"Reset layout": "Ctrl+R"}


@pytest.mark.parametrize("size", [QSize(980, 700), QSize(1280, 800), QSize(1920, 1080)])
def test_the_keys_dialog_fits_on_the_window(size: QSize) -> None:
    application()
    parent = QWidget()
    parent.resize(size)
    actions = [QAction(f"Go to a workspace {at}", parent) for at in range(45)]
    for action in actions:
        action.setObjectName(action.text())
    dialog = KeysDialog(
        Shortcuts(actions, Remembered()), [("W A S D", "zoom and pan " * 5)], parent
    )
    dialog.show()
    assert dialog.width() <= size.width() and dialog.height() <= size.height()
    area = dialog.findChild(QScrollArea)
    assert area is not None and not area.horizontalScrollBar().maximum()
    assert area.focusPolicy() == Qt.FocusPolicy.NoFocus
    parent.deleteLater()
