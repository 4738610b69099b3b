"""A dock with its own title bar: title, subtitle and a menu."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QIcon,
    QImage,
    QPainter,
    QPen,
    QPixmap,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QDockWidget, QFrame, QHBoxLayout, QLabel, QToolButton, QWidget

from app.explorer.docks.veil import Veil
from app.outputs import whole
from app.theme import Theme
from app.widgets.brushes import faint
from app.widgets.canvas import without_cards
from app.widgets.context_menu import ContextMenu, Entry
from app.widgets.elided_label import Elided
from app.widgets.style import HEAD_HEIGHT
from app.widgets.view import View
from simulator.errors import InputError

PIXEL_RATIO = 2


class Panel(QDockWidget):
    """A dock for one widget, which may be added later. `menu` opens from the three dots.

    The title bar and the body are built when the dock is first placed or filled: most panels of a
    new window are on pages that are not shown."""

    def __init__(self, title: str, inside: QWidget | None, theme: Theme) -> None:
        super().__init__(title)
        self.setObjectName(title)
        self.theme = theme
        self.inside: QWidget | None = None
        self.is_built = False
        self._covered = False
        self._entries: list[Entry] = []
        self._menu: ContextMenu | None = None
        if inside is not None:
            self.fill(inside)

    def build(self) -> None:
        """Build the title bar and the body, if they are missing."""
        if self.is_built:
            return
        self.is_built = True
        title = self.windowTitle()
        body = QFrame()
        body.setProperty("look", "body")
        self.veil = Veil(body, self.theme)
        self._row = QHBoxLayout(body)
        self._row.setContentsMargins(1, 4, 1, 6)
        self.setWidget(body)

        head = QFrame()
        head.setProperty("look", "dockhead")
        head.setFixedHeight(HEAD_HEIGHT)
        line = QHBoxLayout(head)
        line.setContentsMargins(12, 0, 6, 0)
        line.setSpacing(8)
        name = QLabel(title)
        name.setProperty("tone", "title")
        self.subtitle = Elided()
        self.subtitle.setProperty("tone", "quiet")
        self.float_button = self._button(
            f"Float or dock {title}",
            lambda: self.setFloating(not self.isFloating()),
        )
        self.more = self._button(f"Menu of {title}", self._open)
        line.addWidget(name)
        line.addWidget(self.subtitle, 1)
        line.addWidget(self.float_button)
        line.addWidget(self.more)
        self.setTitleBarWidget(head)
        self.restyle(self.theme)

    @property
    def menu(self) -> ContextMenu:
        """The menu, which is built when it is first needed."""
        if self._menu is None:
            close = Entry("Close panel", self.close, tip="The View menu shows it again")
            self._menu = ContextMenu(self, self.windowTitle(), [*self._entries, close])
            self._menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        return self._menu

    def _button(self, name: str, clicked: Callable[[], None]) -> QToolButton:
        button = QToolButton()
        button.setAccessibleName(name)
        button.setToolTip(name)
        button.setFixedSize(26, 26)
        button.clicked.connect(lambda: clicked())
        return button

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the title bar, or of a part that has no menu itself."""
        self.menu.popup(event.globalPos())

    def add_entry(self, words: str, run: Callable[[], object]) -> None:
        """Add an entry to the menu; call this before the menu opens."""
        self._entries.append(Entry(words, run))

    def _open(self) -> None:
        self.menu.exec(self.more.mapToGlobal(QPoint(0, self.more.height())))

    def fill(self, inside: QWidget) -> None:
        """Add the widget to the panel, before the title bar in the Tab order."""
        self.build()
        self.inside = inside
        stops, widget = list[QWidget](), inside.nextInFocusChain()
        while widget is not None and widget is not inside:
            if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.focusProxy() is None:
                stops.append(widget)
            widget = widget.nextInFocusChain()
        self._row.addWidget(inside)
        head = [self.float_button, self.more]
        for before, after in pairwise([head[-1], *stops, *head]):
            self.setTabOrder(before, after)

    def note_covered(self) -> None:
        """Remember whether another panel of the group of tabs covers this one."""
        self._covered = not self.isHidden() and self.visibleRegion().isEmpty()

    def bring_forward(self, shown: bool) -> None:
        """Put the panel in front of its group if it was shown, or if it was covered when it was
        hidden."""
        if shown or self._covered:
            self.show()
            self.raise_()

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        if self.is_built:
            self.float_button.setIcon(_icon(theme, "float"))
            self.more.setIcon(_icon(theme, "more"))
            self.veil.theme = theme

    def dim(self, stale: bool) -> None:
        """Dim the panel if its figures are `stale` (from an earlier scenario), else undo it."""
        self.build()
        self.veil.put(stale)
        self.subtitle.setEnabled(not stale)

    def say(self, words: str, *shorter: str) -> None:
        """Set the subtitle, and shorter texts that replace it if it does not fit."""
        self.build()
        self.subtitle.say(words, *shorter)


def export(view: View, path: Path) -> None:
    """Write a view as PNG, at twice its size, or SVG. Raises InputError if writing fails."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise InputError(f"{path.name}: expected a file name that ends in .png or .svg; rename it")
    try:
        whole(path, lambda part: _render(view, part))
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}: expected a writable folder; choose another"
        ) from error


def copy_picture(view: View) -> None:
    """Copy a view to the clipboard, as a picture at twice its size."""
    QGuiApplication.clipboard().setImage(_image(view))


def _image(view: View) -> QImage:
    image = QImage(view.size() * PIXEL_RATIO, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(PIXEL_RATIO)
    image.fill(view.theme.bg1)
    with without_cards(view):
        view.render(image, QPoint())
    return image


def _render(view: View, path: Path) -> None:
    size = view.size()
    if path.suffix.lower() == ".png":
        if not _image(view).save(str(path)):
            raise OSError(5, "the image could not be written")
        return
    buffer = QBuffer()  # Qt does not report why writing a file fails
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    drawing = QSvgGenerator(QSvgGenerator.SvgVersion.Svg11)
    drawing.setOutputDevice(buffer)
    drawing.setSize(size)
    drawing.setViewBox(QRect(QPoint(), size))
    drawing.setTitle(view.title)
    painter = QPainter(drawing)
    with without_cards(view):
        view.render(painter, QPoint())
    painter.end()
    path.write_bytes(buffer.data().data())


@cache
def _icon(theme: Theme, name: str) -> QIcon:
    pixmap = QPixmap(QSize(16, 16) * PIXEL_RATIO)
    pixmap.setDevicePixelRatio(PIXEL_RATIO)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    ink = faint(theme.ink2, 1.0)
    if name == "more":
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink)
        for x in (3.0, 8.0, 13.0):
            painter.drawEllipse(QRectF(x - 1.4, 6.6, 2.8, 2.8))
    else:
        painter.setPen(QPen(ink, 1.4))
        painter.drawRoundedRect(QRectF(2.5, 5.5, 8, 8), 1.5, 1.5)
        painter.drawPolyline([QPoint(6, 2), QPoint(14, 2), QPoint(14, 10)])
    painter.end()
    return QIcon(pixmap)
