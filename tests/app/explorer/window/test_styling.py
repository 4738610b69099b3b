"""A new theme styles visible widgets before the window is repainted, and others before they are
shown."""

from types import SimpleNamespace

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QDialog, QLabel, QMenu, QVBoxLayout
from shiboken6 import delete

from app.explorer.window.window import Window
from app.formulas.formula import Formula
from app.theme import THEMES
from app.views.roofline.canvas import RooflineCanvas
from app.widgets import style
from app.widgets.style import sheet
from tests.app.explorer.files.settling import until


def sheets(window: Window) -> dict[str, str]:
    parts = {**window.workspaces.docks, "strip": window.strip, "shelf": window.beside[0]}
    return {name: part.styleSheet() for name, part in parts.items()}


def test_hidden_pages_follow_a_theme_later_and_before_they_are_shown(window: Window):
    window.session.show("Explore")
    before = sheet(window.theme)
    now = sheets(window)
    assert now["Explore"] == now["strip"] == now["shelf"] == before
    until(lambda: {*sheets(window).values()} == {before})  # the hidden pages of a new window
    window.toggle_theme()
    after = sheet(window.theme)
    assert not window.updatesEnabled()  # old and new theme never appear together
    until(lambda: window.updatesEnabled())
    now = sheets(window)
    assert now["Explore"] == now["strip"] == now["shelf"] == after != before
    assert now["Plan"] == now["Lessons"] == before
    window.session.show("Lessons")
    assert sheets(window)["Lessons"] == after
    until(lambda: {*sheets(window).values()} == {after})
    window.toggle_theme()
    window.toggle_theme()
    until(lambda: {*sheets(window).values()} == {after})


def test_a_page_that_was_shown_opens_in_a_new_theme_without_painting_its_charts(window: Window):
    window.session.show("Explore")
    chart = window.findChild(RooflineCanvas)
    assert chart is not None
    until(lambda: chart.has_picture and window.answering.up_to_date)
    window.session.show("Lessons")
    window.toggle_theme()
    until(lambda: not window.styling._next.isActive())
    picture = chart._picture
    assert picture is not None and picture.theme is window.theme
    assert all(view.theme is window.theme for view in window.panels.views.values())
    window.session.show("Explore")
    until(chart.isVisible)
    chart.repaint()
    assert chart._picture is picture
    window.toggle_theme()


def test_a_dialog_has_the_theme_of_its_window(window: Window):
    dialog = QDialog(window)
    QVBoxLayout(dialog).addWidget(QLabel("text"))
    dialog.show()
    QCoreApplication.processEvents()
    assert dialog.grab().toImage().pixelColor(3, 3).name().upper() == window.theme.bg1
    assert dialog.styleSheet() == sheet(THEMES[window.theme.name])
    window.toggle_theme()
    until(lambda: window.updatesEnabled())
    assert dialog.grab().toImage().pixelColor(3, 3).name().upper() == window.theme.bg1
    dialog.close()
    dialog.deleteLater()


def test_a_dialog_that_is_closed_during_a_change_of_theme_does_not_stop_it(window: Window):
    dialogs = [QDialog(window) for _ in range(2)]
    for dialog in dialogs:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialogs[0].show()
    QCoreApplication.processEvents()
    window.toggle_theme()
    dialogs[0].close()  # one dialog that was shown, and one that never was
    delete(dialogs[1])
    until(lambda: window.updatesEnabled())
    until(lambda: {*sheets(window).values()} == {sheet(window.theme)})
    window.toggle_theme()


def test_an_explanation_has_the_theme_of_its_window(window: Window):
    window.session.show("Explore")
    formula = Formula("Throughput", "samples of a step / its time", "64 / 5.59 ms", "")
    popup = window.explaining.show(formula, window.mapToGlobal(QPoint(300, 300)))
    assert popup.styleSheet() == sheet(window.theme)
    column = popup.layout()
    assert column is not None and popup.height() == column.totalHeightForWidth(popup.width())
    popup.close()


def test_a_window_with_the_theme_of_the_system_follows_its_changes(
    window: Window, monkeypatch: pytest.MonkeyPatch
):
    schemes = [Qt.ColorScheme.Dark]
    hints = SimpleNamespace(colorScheme=lambda: schemes[-1])
    monkeypatch.setattr(style, "QGuiApplication", SimpleNamespace(styleHints=lambda: hints))

    def change(scheme: Qt.ColorScheme) -> None:
        schemes.append(scheme)
        until(lambda: window.updatesEnabled())
        QGuiApplication.styleHints().colorSchemeChanged.emit(scheme)
        assert window.updatesEnabled()  # Qt's own change comes first
        QCoreApplication.processEvents()
        until(lambda: window.updatesEnabled() and not window.styling._system.isActive())

    action = window.shortcuts.actions["Use system theme"]
    assert window.session.state.theme == "dark"
    change(Qt.ColorScheme.Light)
    assert window.theme.name == "dark" and not ticked(window, action)  # a chosen theme stays
    action.trigger()
    assert window.theme.name == "light" and ticked(window, action)
    change(Qt.ColorScheme.Dark)
    assert window.theme.name == "dark"
    action.trigger()
    assert ticked(window, action)
    change(Qt.ColorScheme.Light)
    assert window.theme.name == "light" and window.strip.styleSheet() == sheet(THEMES["light"])
    window.toggle_theme()
    assert window.theme.name == "dark" and not ticked(window, action)


def ticked(window: Window, action: QAction) -> bool:
    """Whether an action of the View menu is ticked when the menu opens."""
    menu = next(m for m in window.head.findChildren(QMenu) if action in m.actions())
    menu.aboutToShow.emit()
    return action.isChecked()
