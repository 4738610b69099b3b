"""Clicks that pass through the window, as those of a mouse do."""

from PySide6.QtCore import QCoreApplication, QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget


def right_click(widget: QWidget, at: QPointF | QPoint) -> None:
    """Move to a point of a widget and click the right button. An open menu receives the click,
    because it grabs the mouse."""
    QCoreApplication.processEvents()
    place = at if isinstance(at, QPoint) else at.toPoint()
    popup = QApplication.activePopupWidget()
    target = (popup or widget.window()).windowHandle()
    there = target.mapFromGlobal(widget.mapToGlobal(place))
    for move in (QPoint(1, 0), QPoint()):  # Qt opens the menu of the widget that was entered last
        QTest.mouseMove(target, there + move)
    modifiers = Qt.KeyboardModifier.NoModifier
    QTest.mouseClick(target, Qt.MouseButton.RightButton, modifiers, there)
    QCoreApplication.processEvents()


def opened() -> QMenu:
    """The open menu, which has an accessible name."""
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu) and menu.accessibleName()
    return menu


def close_popups() -> None:
    """Close all open popups."""
    while (popup := QApplication.activePopupWidget()) is not None:
        popup.close()
        QCoreApplication.processEvents()
