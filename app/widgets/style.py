"""The style sheet and the palette of the window, filled from the tokens of `app.theme`."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette

from app.theme import (
    BODY_PX,
    DARK,
    FAMILIES,
    FIGURE_PX,
    FIXED_FAMILIES,
    HEAD_PX,
    LABEL_PX,
    LIGHT,
    SUPPORT_PX,
    Theme,
    mixed,
)

HEAD_HEIGHT, VERDICT_HEIGHT = 36, 92
SHELF_WIDTH, INSPECTOR_WIDTH = 216, 306
SIDE_HEIGHT, SIDE_LOW, LOW_WINDOW = 84, 48, 900
"""Height of a scenario card, its height in a low window, and the height below which a window is
low."""
TIME_PX = 26


def themed(choice: str) -> Theme:
    """The theme of a choice: "dark", "light" or "system"."""
    if choice == "system":
        hints = QGuiApplication.styleHints()
        choice = "light" if hints.colorScheme() == Qt.ColorScheme.Light else "dark"
    return LIGHT if choice == "light" else DARK


def face(px: int = BODY_PX, weight: int = 400, fixed: bool = False) -> QFont:
    """The font of the window at `px` pixels, with tabular figures."""
    font = QFont()
    font.setFamilies(list(FIXED_FAMILIES if fixed else FAMILIES))
    font.setPixelSize(px)
    font.setWeight(QFont.Weight(weight))
    tag = getattr(QFont, "Tag", None)
    if tag is not None and hasattr(font, "setFeature"):
        font.setFeature(tag("tnum"), 1)
    return font


def palette(theme: Theme) -> QPalette:
    """Qt's palette, for widgets that the style sheet does not cover."""
    colours, role = QPalette(), QPalette.ColorRole
    for name, colour in {
        role.Window: theme.bg0,
        role.WindowText: theme.ink,
        role.Base: theme.bg0,
        role.AlternateBase: theme.bg1,
        role.Text: theme.ink,
        role.Button: theme.bg3,
        role.ButtonText: theme.ink,
        role.ToolTipBase: theme.bg2,
        role.ToolTipText: theme.ink,
        role.Highlight: theme.b,
        role.HighlightedText: theme.on_accent,
        role.PlaceholderText: theme.ink3,
        role.Link: theme.b,
    }.items():
        colours.setColor(name, QColor(colour))
    return colours


def sheet(theme: Theme) -> str:
    """The style sheet. Its rules select widgets by their dynamic properties `look` and `tone`."""
    t = theme
    families = ", ".join(f'"{name}"' for name in FAMILIES)
    return f"""
* {{ font-family: {families}; font-size: {BODY_PX}px; color: {t.ink}; outline: 0; }}
QMainWindow, QWidget[look="window"] {{ background: {t.bg0}; }}
QMainWindow::separator {{ background: {t.bg0}; width: 8px; height: 8px; }}
QMainWindow::separator:hover {{ background: {t.line}; }}
QFrame[look="dockhead"] {{ background: {t.bg1}; border: 1px solid {t.line}; border-top-left-radius: 8px; border-top-right-radius: 8px; }}
QFrame[look="body"] {{ background: {t.bg1}; border: 1px solid {t.line}; border-top: 0; border-bottom-left-radius: 8px; border-bottom-right-radius: 8px; }}
QFrame[look="banner"] {{ background: {t.danger_ground}; border: 1px solid {t.danger}; border-radius: 6px; }}
QFrame[look="offer"] {{ background: {t.bg2}; border: 1px solid {t.line2}; border-radius: 6px; }}
QFrame[look="rule"] {{ background: {t.line}; border: 0; }}
QFrame[look="card"]:focus {{ border: 2px solid {t.focus}; }}
QFrame[look="card"] {{ background: {t.bg2}; border: 1px solid {t.line}; border-radius: 8px; }}
QLabel[look="drop"], QToolButton[look="drop"] {{ color: {t.ink3}; font-size: {SUPPORT_PX}px; border: 1px dashed {t.line2}; border-radius: 8px; padding: 10px 4px; }}
QToolButton[look="drop"]:focus {{ border: 2px solid {t.focus}; }}
QStatusBar {{ background: {t.bg0}; border: 0; }}
QStatusBar::item {{ border: 0; }}
QWidget[look="plain"], QScrollArea, QScrollArea > QWidget > QWidget {{ background: transparent; border: 0; }}
QLabel {{ background: transparent; border: 0; }}
QLabel[tone="quiet"] {{ color: {t.ink3}; font-size: {SUPPORT_PX}px; }}
QLabel[tone="support"] {{ color: {t.ink2}; font-size: {SUPPORT_PX}px; }}
QLabel[tone="quiet"]:disabled, QLabel[tone="support"]:disabled {{ color: {mixed(t.ink3, t.bg1, 0.6)}; }}
QLabel[tone="label"] {{ color: {t.ink3}; font-size: {LABEL_PX}px; }}
QLabel[tone="advice"] {{ font-size: {SUPPORT_PX}px; font-weight: 600; }}
QLabel[tone="title"] {{ font-weight: 600; }}
QLabel[tone="verdict"] {{ font-size: {BODY_PX}px; font-weight: 600; }}
QLabel[tone="verdict"]:disabled {{ color: {t.ink3}; }}
QLabel[tone="figure"] {{ font-size: {FIGURE_PX}px; font-weight: 600; }}
QLabel[tone="head"] {{ font-size: {HEAD_PX}px; font-weight: 600; }}
QLabel[tone="good"] {{ color: {t.b}; font-size: {SUPPORT_PX}px; font-weight: 600; }}
QLabel[tone="danger"] {{ color: {t.danger}; font-size: {SUPPORT_PX}px; font-weight: 600; }}
QPlainTextEdit[tone="code"] {{ font-family: "{FIXED_FAMILIES[0]}", "{FIXED_FAMILIES[1]}", monospace; font-size: {SUPPORT_PX}px; }}
QLabel[tone="code"] {{ font-family: "{FIXED_FAMILIES[0]}", "{FIXED_FAMILIES[1]}", monospace; font-size: {SUPPORT_PX}px; color: {t.ink2}; }}
QMenuBar {{ background: transparent; border: 0; spacing: 0; }}
QMenuBar::item {{ background: transparent; color: {t.ink2}; padding: 5px 8px; border-radius: 4px; }}
QMenuBar::item:selected {{ background: {t.bg3}; color: {t.ink}; }}
QMenu {{ background: {t.bg2}; border: 1px solid {t.line2}; padding: 4px; }}
QMenu::item {{ padding: 5px 24px 5px 12px; border-radius: 4px; }}
QMenu::item:selected {{ background: {t.bg3}; }}
QMenu::item:disabled {{ color: {t.ink3}; }}
QMenu::separator {{ height: 1px; background: {t.line}; margin: 4px 8px; }}
QToolTip {{ background: {t.bg2}; color: {t.ink}; border: 1px solid {t.line2}; padding: 6px 8px; font-size: {SUPPORT_PX}px; }}
QPushButton, QToolButton[look="button"] {{ background: {t.bg3}; border: 1px solid {t.line}; border-radius: 6px; padding: 0 10px; min-height: 24px; }}
QPushButton:hover, QToolButton[look="button"]:hover {{ border-color: {t.line2}; }}
QPushButton:pressed {{ background: {t.line}; }}
QPushButton:disabled {{ color: {t.ink3}; background: {t.bg2}; }}
QPushButton[look="primary"]:disabled {{ background: {t.bg3}; color: {t.ink3}; }}
QPushButton[look="primary"] {{ background: {t.b}; color: {t.on_accent}; font-weight: 600; }}
QToolButton[look="field"], QToolButton[look="wrongfield"], QLineEdit[look="field"], QLineEdit[look="wrongfield"] {{ background: {t.bg0}; border: 1px solid {t.line2}; border-radius: 6px; padding: 0 6px; min-height: 22px; font-weight: 600; color: {t.ink}; }}
QToolButton[look="field"]:hover, QLineEdit[look="field"]:hover {{ border-color: {t.b}; }}
QToolButton[look="wrongfield"], QLineEdit[look="wrongfield"] {{ border-color: {t.danger}; color: {t.danger}; }}
QToolButton[look="toggle"] {{ border: 1px solid transparent; border-radius: 4px; padding: 0 2px; min-height: 18px; color: {t.ink3}; font-size: {LABEL_PX}px; }}
QToolButton[look="small"] {{ background: {t.bg3}; border: 1px solid {t.line2}; border-radius: 4px; padding: 0 6px; color: {t.ink}; font-size: {LABEL_PX}px; }}
QToolButton[look="toggle"]:checked {{ background: {t.bg3}; border-color: {t.line2}; color: {t.ink}; font-weight: 600; }}
QToolButton[look="toggle"]:disabled {{ color: {t.ink3}; }}
QProgressBar {{ background: {t.bg3}; border: 0; border-radius: 2px; max-height: 4px; }}
QProgressBar::chunk {{ background: {t.b}; border-radius: 2px; }}
QPushButton:focus, QToolButton:focus, QLineEdit:focus, QComboBox:focus, QAbstractItemView:focus {{ border: 2px solid {t.focus}; }}
QToolButton {{ background: transparent; border: 2px solid transparent; border-radius: 6px; padding: 2px; color: {t.ink2}; }}
QToolButton:hover {{ background: {t.bg3}; color: {t.ink}; }}
QToolButton:disabled {{ color: {t.line2}; }}
QToolButton::menu-indicator {{ image: none; }}
QToolButton[look="more"] {{ border: 1px dashed {t.line2}; border-radius: 8px; font-size: {FIGURE_PX}px; }}
QToolButton[look="more"]:focus {{ border: 2px solid {t.focus}; }}
QToolButton[look="quiet"] {{ color: {t.ink3}; font-size: {LABEL_PX}px; padding: 1px 6px; }}
QToolButton[look="tab"] {{ padding: 4px 12px; color: {t.ink2}; border: 1px solid transparent; }}
QToolButton[look="tab"]:checked {{ background: {t.bg3}; border-color: {t.line2}; color: {t.ink}; font-weight: 600; }}
QToolButton[look="tab"][narrow="true"] {{ padding: 4px; }}
QToolButton[look="tab"]:focus {{ border: 2px solid {t.focus}; padding: 3px 11px; }}
QFrame[look="segments"] {{ background: {t.bg0}; border: 1px solid {t.line}; border-radius: 6px; }}
QToolButton[look="segment"] {{ border: 1px solid transparent; border-radius: 5px; padding: 0 2px; min-height: 22px; color: {t.ink2}; font-size: {SUPPORT_PX}px; }}
QToolButton[look="segment"]:checked {{ background: {t.bg3}; border-color: {t.line2}; color: {t.ink}; font-weight: 600; }}
QToolButton[look="segment"]:disabled {{ color: {t.ink3}; }}
QToolButton[look="segment"]:focus {{ border: 2px solid {t.focus}; }}
QLineEdit, QComboBox, QPlainTextEdit {{ background: {t.bg0}; border: 1px solid {t.line}; border-radius: 6px; padding: 0 8px; min-height: 24px; selection-background-color: {t.b}; selection-color: {t.on_accent}; }}
Strip QLabel, Strip QToolButton, Strip QComboBox, Strip QLineEdit {{ font-size: {LABEL_PX}px; }}
QLineEdit:hover, QComboBox:hover {{ border-color: {t.line2}; }}
QLineEdit[look="wrong"] {{ border: 1px solid {t.danger}; }}
QComboBox {{ padding-right: 20px; }}
QComboBox::drop-down {{ border: 0; width: 18px; }}
QComboBox::down-arrow {{ image: none; }}
QComboBox QAbstractItemView, QListView {{ background: {t.bg2}; border: 1px solid {t.line2}; padding: 4px; selection-background-color: {t.bg3}; selection-color: {t.ink}; }}
QListView::item {{ min-height: 24px; border-radius: 4px; padding: 2px 8px; }}
QListView::item:selected {{ background: {t.bg3}; color: {t.ink}; }}
QScrollBar:vertical {{ background: transparent; width: 8px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 8px; margin: 0; }}
QScrollBar::handle {{ background: {t.line2}; border-radius: 3px; min-height: 24px; min-width: 24px; margin: 1px; }}
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {{ width: 0; height: 0; background: transparent; }}
QAbstractScrollArea::corner {{ background: transparent; border: 0; }}
QTabBar {{ background: transparent; border: 0; qproperty-drawBase: 0; }}
QTabBar::tab {{ background: transparent; color: {t.ink3}; padding: 4px 10px; border: 0; border-top: 2px solid transparent; }}
QTabBar::tab:selected {{ color: {t.ink}; border-top: 2px solid {t.b}; }}
QDockWidget {{ border: 0; }}
QDialog {{ background: {t.bg1}; border: 1px solid {t.line2}; }}
QTableView, QTreeView {{ background: {t.bg1}; border: 0; gridline-color: {t.line}; selection-background-color: {t.bg3}; selection-color: {t.ink}; alternate-background-color: {t.bg2}; }}
QHeaderView::section {{ background: {t.bg1}; color: {t.ink3}; border: 0; border-bottom: 1px solid {t.line}; padding: 4px 8px; font-size: {SUPPORT_PX}px; }}
"""
