"""Painting of the op table's cells and column headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPolygonF
from PySide6.QtWidgets import QHeaderView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.theme import LABEL_PX, Theme, mixed
from app.views.ops.model import COLUMNS, NAMES, REGIME, SHARE, OpModel
from app.widgets.paint import Paint
from simulator.prediction import REGIMES

if TYPE_CHECKING:
    from app.views.ops.view import OpTable

_PAD, _BAR_PX, _HEAD_PX = 10.0, 56.0, 30
_QUIET = ("Module", "Shape", "Dtype", "Calls", "Source")


class OpCells(QStyledItemDelegate):
    """Paints a cell by its column: names, figures, the share with a bar by regime, the regime with
    its mark."""

    def __init__(self, theme: Theme, view: OpTable) -> None:
        super().__init__(view)
        self.theme = theme
        self.view = view

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        model, theme = self.view.model, self.theme
        groups = model.groups
        if groups is None:
            return
        group, column = int(model.order[index.row()]), index.column()
        box = QRectF(option.rect)  # pyright: ignore
        state = option.state  # pyright: ignore
        painter.save()
        painter.setClipRect(box)
        marked = bool(self.view.marked[group])
        over = bool(state & QStyle.StateFlag.State_MouseOver)
        ground = (
            theme.bg3
            if marked or self.view.what_ifs.hovered == group
            else theme.bg2
            if over
            else theme.bg1
        )
        painter.fillRect(box, QColor(ground))
        paint = Paint(painter, theme)
        painter.fillRect(QRectF(box.left(), box.bottom() - 1, box.width(), 1), QColor(theme.grid))
        if marked and column == model.shown()[0]:
            painter.fillRect(QRectF(box.left(), box.top(), 3, box.height() - 1), QColor(theme.b))
        middle, words = box.center().y() - 0.5, model.text(group, column)
        if column == SHARE:
            self._share(paint, box, group)
            paint.text(box.right() - _PAD, middle, words, theme.ink, align=1.0)
        elif column == REGIME:
            regime = groups.regime_of(group)
            paint.mark(regime, box.left() + _PAD + 4.5, middle, 4.4, ground)
            paint.text(
                box.left() + _PAD + 15, middle, words, theme.regime(regime).ink, LABEL_PX, 500
            )
        else:
            number = COLUMNS[column].values is not None
            ink = theme.ink2 if NAMES[column] in _QUIET else theme.ink
            paint.text(
                box.right() - _PAD if number else box.left() + _PAD,
                middle,
                words,
                theme.ink3 if words == "–" else ink,
                LABEL_PX,
                500 if NAMES[column] in ("Op", "Time") else 400,
                float(number),
                NAMES[column] in ("Op", "Module"),
                box.width() - 2 * _PAD,
            )
        if state & QStyle.StateFlag.State_HasFocus:
            paint.ring(box.adjusted(1, 1, -1, -2), 4)
        painter.restore()

    def _share(self, paint: Paint, box: QRectF, group: int) -> None:
        """Draw a bar as long as the share of GPU busy time, divided by regime."""
        groups = self.view.model.groups
        assert groups is not None
        top, left = box.center().y() - 4.5, box.left() + _PAD
        paint.area(QRectF(left, top, _BAR_PX, 8), mixed(self.theme.ink3, self.theme.bg1, 0.22))
        parts, spent = groups.parts_s[group], groups.total_s[group]
        for regime, part in zip(REGIMES, parts, strict=True):
            wide = _BAR_PX * float(groups.share[group]) * float(part / spent if spent else 0)
            if wide > 0:
                paint.area(QRectF(left, top, max(wide, 0.6), 8), regime)
            left += wide

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(60, 24)


class OpHeads(QHeaderView):
    """Column headers, with a triangle at the sorted column."""

    def __init__(self, theme: Theme, model: OpModel) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.theme = theme
        self.op_model = model
        self.setAccessibleName("Columns of the op table")
        self.setSectionsClickable(True)
        self.setFixedHeight(_HEAD_PX)
        self.setMinimumSectionSize(48)

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:
        theme, box = self.theme, QRectF(rect)
        painter.save()
        painter.fillRect(box, QColor(theme.bg1))
        painter.fillRect(QRectF(box.left(), box.bottom() - 1, box.width(), 1), QColor(theme.line))
        paint = Paint(painter, theme)
        sorted_by = logicalIndex == self.op_model.column
        ink = theme.ink if sorted_by else theme.ink3
        number = COLUMNS[logicalIndex].values is not None
        middle = box.center().y()
        x = box.right() - _PAD if number else box.left() + _PAD
        words = paint.text(x, middle, NAMES[logicalIndex], ink, LABEL_PX, 500, float(number))
        if sorted_by:
            at = words.left() - 9 if number else words.right() + 9
            up = -1.0 if not self.op_model.falling else 1.0
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(ink))
            painter.drawPolygon(
                QPolygonF(
                    [
                        QPointF(at - 3.6, middle - 2.2 * up),
                        QPointF(at + 3.6, middle - 2.2 * up),
                        QPointF(at, middle + 2.8 * up),
                    ]
                )
            )
        painter.restore()


def sheet(theme: Theme) -> str:
    """Return the style sheet of the parts that Qt paints: background, scroll bars and tooltips."""
    return f"""
    QTableView {{ background: {theme.bg1}; border: 0; outline: 0; }}
    QHeaderView {{ background: {theme.bg1}; border: 0; }}
    QScrollBar {{ background: {theme.bg1}; border: 0; }}
    QScrollBar:vertical {{ width: 10px; }}
    QScrollBar:horizontal {{ height: 10px; }}
    QScrollBar::handle {{ background: {theme.line2}; border-radius: 3px; margin: 2px; }}
    QScrollBar::handle:vertical {{ min-height: 28px; }}
    QScrollBar::handle:horizontal {{ min-width: 28px; }}
    QScrollBar::handle:hover {{ background: {theme.ink3}; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: {theme.bg1}; }}
    QToolTip {{ color: {theme.ink}; background: {theme.bg2}; border: 1px solid {theme.line2}; }}
    """
