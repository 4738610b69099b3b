"""The palette: a few letters find a command, Enter runs it, and no command is missing."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QApplication

from app.explorer.window.dialogs.palette import (
    Command,
    CommandPalette,
    action_commands,
    score,
    view_keys,
)
from app.widgets.drawing import application


def test_letters_in_order_match_words():
    assert score("What-if: CUDA graph", "cudag") is not None
    assert score("What-if: CUDA graph", "gc") is None
    best = min(
        ["GPU: B200", "What-if: bandwidth", "Do: Save"], key=lambda w: score(w, "band") or 99
    )
    assert best == "What-if: bandwidth"
    whole, spread = score("Do: Undo", "undo"), score("Do: un-hide docks", "undo")
    assert whole is not None and spread is not None and whole < spread


def press(palette: CommandPalette, key: Qt.Key) -> None:
    event = QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(palette.line, event)


def test_enter_does_the_first_and_arrows_choose_another():
    application()
    done: list[str] = []
    commands = [Command("GPU", name, "", lambda n=name: done.append(n)) for name in ("A10", "A100")]
    for typed, keys in (("a1", []), ("a1", [Qt.Key.Key_Down]), ("zzz", [])):
        palette = CommandPalette(commands)
        palette.line.setText(typed)
        assert palette.list.count() == (0 if typed == "zzz" else 2)
        for key in (*keys, Qt.Key.Key_Return):
            press(palette, key)
        assert palette.commands == [] and palette.list.count() == 0  # released
    assert done == ["A10", "A100"]


def test_actions_that_cannot_be_done_are_left_out():
    application()
    one, other = QAction("Undo"), QAction("Redo")
    one.setShortcut("Ctrl+Z")
    other.setEnabled(False)
    commands = action_commands([one, other, one])
    assert [(c.name, c.key) for c in commands] == [("Undo", "Ctrl+Z")]
    assert ("F2", "rename (scenarios)") in view_keys()


def test_a_long_name_is_elided_within_the_list():
    running = application()
    palette = CommandPalette([Command("Host", "an Intel Xeon with a long name " * 9, "", list)])
    palette.show()
    running.processEvents()
    assert palette.list.horizontalScrollBar().maximum() == 0
    palette.close()
