"""The narrow row of controls above a view."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSlider,
    QToolButton,
    QWidget,
)

from app.theme import LABEL_PX, Theme
from app.widgets.choice import Choice
from app.widgets.fonts import font
from app.widgets.paint import Paint, width
from simulator.prediction import REGIMES, Regime, Shares

HEIGHT_PX = 30


class Strip(QWidget):
    """Controls side by side, in the colours of a theme."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(12, 4, 12, 0)
        self.row.setSpacing(8)
        self.setFixedHeight(HEIGHT_PX)
        self.setFont(font(LABEL_PX))
        self.restyle(theme)

    def restyle(self, theme: Theme) -> None:
        """Another theme."""
        self.theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setStyleSheet(sheet(theme))
        for painted in (*self.findChildren(Legend), *self.findChildren(Choice)):
            painted.theme = theme
            painted.update()

    def label(self, words: str = "") -> QLabel:
        """A quiet text."""
        found = QLabel(words)
        self.row.addWidget(found)
        return found

    def stretch(self) -> None:
        """What comes next stands at the right."""
        self.row.addStretch(1)

    def slider(self, name: str, changed: Callable[[int], None]) -> QSlider:
        """A slider of whole numbers."""
        found = QSlider(Qt.Orientation.Horizontal)
        found.setAccessibleName(name)
        found.setToolTip(name)
        found.setFixedWidth(96)
        found.valueChanged.connect(changed)
        self.row.addWidget(found)
        return found

    def field(self, name: str, changed: Callable[[str], None], hint: str = "") -> QLineEdit:
        """A field to search by; `hint` is its name in short."""
        found = QLineEdit()
        found.setAccessibleName(name)
        found.setToolTip(name)
        found.setPlaceholderText(hint or name)
        found.setClearButtonEnabled(True)
        found.setMinimumWidth(90)
        found.textChanged.connect(changed)
        self.row.addWidget(found, 1)
        return found

    def choice(self, name: str, words: Sequence[str], chosen: Callable[[int], None]) -> Choice:
        """One of several, in a list."""
        found = Choice(self.theme, name)
        found.setToolTip(name)
        found.addItems(list(words))
        found.currentIndexChanged.connect(chosen)
        self.row.addWidget(found)
        return found

    def segments(
        self, name: str, words: Sequence[str], chosen: Callable[[int], None]
    ) -> QButtonGroup:
        """One of a few, side by side."""
        group = QButtonGroup(self)
        frame = QWidget()
        frame.setObjectName("segments")
        row = QHBoxLayout(frame)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(0)
        for index, text in enumerate(words):
            button = self._button(text, f"{name}: {text}")
            button.setCheckable(True)
            button.setChecked(index == 0)
            group.addButton(button, index)
            row.addWidget(button)
        group.idClicked.connect(chosen)
        self.row.addWidget(frame)
        return group

    def button(self, words: str, name: str, clicked: Callable[[], None]) -> QToolButton:
        """A small button."""
        found = self._button(words, name)
        found.setObjectName("chip")
        found.clicked.connect(lambda: clicked())
        self.row.addWidget(found)
        return found

    def _button(self, words: str, name: str) -> QToolButton:
        found = QToolButton()
        found.setText(words)
        found.setAccessibleName(name)
        found.setToolTip(name)
        return found

    def legend(self, theme: Theme) -> Legend:
        """The regimes' marks and names."""
        found = Legend(theme)
        self.row.addWidget(found)
        return found


class Legend(QWidget):
    """Mark, name and share (or count) of each regime; where it is narrow, mark and share."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.shares: Shares | None = None
        self.counts: dict[Regime, int] | None = None
        self.setAccessibleName("Regimes")
        self.setMinimumWidth(150)

    def show_shares(self, shares: Shares | None) -> None:
        """These shares."""
        self.shares = shares
        self.updateGeometry()
        self.update()

    def show_counts(self, counts: dict[Regime, int]) -> None:
        """So many things of each regime."""
        self.counts = counts
        self.updateGeometry()
        self.update()

    def words(self) -> list[str]:
        """What stands beside each mark."""
        if self.counts is not None:
            return [f"{self.counts[r]:,} {r}" for r in REGIMES]
        if self.shares is None:
            return list(REGIMES)
        return [f"{100 * self.shares[r]:.0f}% {r}" for r in REGIMES]

    def sizeHint(self) -> QSize:
        return QSize(round(sum(width(w, LABEL_PX, 500) + 30 for w in self.words())), 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint = Paint(painter, self.theme)
        words = self.words()
        if self.sizeHint().width() > self.width() + 12:
            words = [w.partition(" ")[0] for w in words]
        x, middle = 6.0, self.height() / 2
        for regime, text in zip(REGIMES, words, strict=True):
            paint.mark(regime, x, middle, 4.4)
            ink = self.theme.regime(regime).ink
            box: QRectF = paint.text(x + 10, middle, text, ink, LABEL_PX, 500)
            x = box.right() + 20
        painter.end()


def sheet(theme: Theme) -> str:
    """The style of controls that stand in a view."""
    return f"""
    Strip, QWidget#segments {{ background: {theme.bg1}; }}
    QWidget#segments {{ background: {theme.bg0}; border-radius: 6px; }}
    QLabel {{ color: {theme.ink3}; background: transparent; }}
    QToolButton {{ color: {theme.ink2}; background: transparent; border: 1px solid transparent;
        border-radius: 4px; padding: 1px 8px; }}
    QToolButton:hover {{ color: {theme.ink}; }}
    QToolButton:checked {{ color: {theme.ink}; background: {theme.bg3};
        border-color: {theme.line2}; }}
    QToolButton#chip {{ background: {theme.bg3}; color: {theme.ink2}; }}
    QToolButton:focus, QLineEdit:focus, QComboBox:focus {{ border: 1px solid {theme.focus}; }}
    QToolButton:disabled {{ color: {theme.ink3}; }}
    QLineEdit, QComboBox {{ color: {theme.ink}; background: {theme.bg0};
        border: 1px solid {theme.line}; border-radius: 6px; padding: 1px 8px; min-height: 20px; }}
    QComboBox::drop-down {{ border: 0; width: 16px; }}
    QComboBox QAbstractItemView {{ color: {theme.ink}; background: {theme.bg2};
        border: 1px solid {theme.line2}; selection-background-color: {theme.bg3};
        selection-color: {theme.ink}; outline: 0; }}
    QSlider {{ min-height: 18px; background: transparent; }}
    QSlider::groove:horizontal {{ height: 3px; background: {theme.bg3}; border-radius: 1px; }}
    QSlider::sub-page:horizontal {{ background: {theme.b}; border-radius: 1px; }}
    QSlider::handle:horizontal {{ width: 10px; margin: -5px 0; border-radius: 6px;
        background: {theme.bg1}; border: 2px solid {theme.b}; }}
    QSlider::handle:horizontal:focus {{ background: {theme.focus}; }}
    """
