"""The row of controls above a view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLineEdit,
    QSlider,
    QToolButton,
    QWidget,
)

from app.quantities import percent
from app.theme import LABEL_PX, Theme
from app.widgets.elided_label import STEP_PX, Elided, Steady
from app.widgets.fields.choice import Choice
from app.widgets.fonts import font
from app.widgets.paint import Paint, width
from simulator.prediction import REGIMES, Regime, Shares

HEIGHT_PX = 30


class Strip(QWidget):
    """A row of small controls."""

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
        """Apply a theme."""
        self.theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setStyleSheet(sheet(theme))
        for painted in (*self.findChildren(Legend), *self.findChildren(Choice)):
            painted.theme = theme
            painted.update()

    def label(self, words: str = "") -> Steady:
        """Add a label."""
        control = Steady(words)
        self.row.addWidget(control)
        return control

    def hint(self, words: str = "", *shorter: str) -> Elided:
        """Add a label at the right that is elided if there is little room."""
        control = Elided(Qt.AlignmentFlag.AlignRight)
        control.say(words, *shorter)
        self.row.addWidget(control, 1)
        return control

    def stretch(self) -> None:
        """Align the following controls to the right."""
        self.row.addStretch(1)

    def slider(self, name: str, changed: Callable[[int], None]) -> QSlider:
        """Add a slider."""
        control = QSlider(Qt.Orientation.Horizontal)
        control.setAccessibleName(name)
        control.setToolTip(name)
        control.setFixedWidth(96)
        control.valueChanged.connect(changed)
        self.row.addWidget(control)
        return control

    def field(self, name: str, changed: Callable[[str], None], hint: str = "") -> QLineEdit:
        """Add a search field; `hint` is its placeholder, by default its name."""
        control = QLineEdit()
        control.setAccessibleName(name)
        control.setToolTip(name)
        control.setPlaceholderText(hint or name)
        control.setClearButtonEnabled(True)
        control.setMinimumWidth(90)
        control.textChanged.connect(changed)
        self.row.addWidget(control, 1)
        return control

    def choice(self, name: str, words: Sequence[str], chosen: Callable[[int], None]) -> Choice:
        """Add a combo box."""
        control = Choice(self.theme, name)
        control.setToolTip(name)
        control.addItems(list(words))
        control.currentIndexChanged.connect(chosen)
        self.row.addWidget(control)
        return control

    def segments(
        self, name: str, words: Sequence[str], chosen: Callable[[int], None]
    ) -> QButtonGroup:
        """Add buttons, one of which is chosen."""
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
        """Add a button."""
        control = self._button(words, name)
        control.setObjectName("chip")
        control.clicked.connect(lambda: clicked())
        self.row.addWidget(control)
        return control

    def _button(self, words: str, name: str) -> QToolButton:
        control = QToolButton()
        control.setText(words)
        control.setAccessibleName(name)
        control.setToolTip(name)
        return control

    def legend(self, theme: Theme) -> Legend:
        """Add a legend of the regimes."""
        legend = Legend(theme)
        self.row.addWidget(legend)
        return legend


class Legend(QWidget):
    """Mark, name and share (or count) of each regime; without names if there is little room."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.shares: Shares | None = None
        self.counts: dict[Regime, int] | None = None
        self._wide = -1
        self.setAccessibleName("Regimes")
        self.setMinimumWidth(136)

    def show_shares(self, shares: Shares | None) -> None:
        """Show the shares of time."""
        self.shares = shares
        self._changed()

    def show_counts(self, counts: dict[Regime, int]) -> None:
        """Show a count for each regime."""
        self.counts = counts
        self._changed()

    def _changed(self) -> None:
        """Paint again; lay out the panels only if the width changes, because that takes longer."""
        wide = self.sizeHint().width()
        if wide != self._wide:
            self._wide = wide
            self.updateGeometry()
        self.update()

    def words(self) -> list[str]:
        """The text beside each mark."""
        if self.counts is not None:
            return [f"{self.counts[r]:,} {r}" for r in REGIMES]
        if self.shares is None:
            return list(REGIMES)
        return [f"{percent(self.shares[r])} {r}" for r in REGIMES]

    def sizeHint(self) -> QSize:
        wide = sum(width(w, LABEL_PX, 500) + 30 for w in self.words())
        return QSize(ceil(wide / STEP_PX) * STEP_PX, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint = Paint(painter, self.theme)
        words = self.words()
        gap = 20
        if self.sizeHint().width() > self.width() + 12:
            words, gap = [w.partition(" ")[0] for w in words], 16
        x, middle = 6.0, self.height() / 2
        for regime, text in zip(REGIMES, words, strict=True):
            paint.mark(regime, x, middle, 4.4)
            ink = self.theme.regime(regime).ink
            box: QRectF = paint.text(x + 10, middle, text, ink, LABEL_PX, 500)
            x = box.right() + gap
        painter.end()


def sheet(theme: Theme) -> str:
    """The style sheet of controls inside a view."""
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
