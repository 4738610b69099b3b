"""The ranked table of a plan's candidates, one of which is chosen."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QHelpEvent, QKeyEvent
from PySide6.QtWidgets import QToolTip

from app.answers.plan.planned import Planned, candidate_of
from app.answers.plan.words import is_preliminary, status_words
from app.scenes.plan.table import Column, columns, distinguishing, mode_of, short_name, shown, texts
from app.theme import LABEL_PX, SUPPORT_PX, Theme
from app.widgets.canvas import Canvas
from app.widgets.paint import Paint, fitting, width
from simulator.planning import Row

ROW_PX, HEAD_PX = 27.0, 34.0
_RANK_PX, _LIMITS_PX, _BINDS_PX = 17.0, 76.0, 84.0
_NARROW_PX, _MARK_PX = 460, 18.0
_MARKED = ("compute", "memory", "overhead")


class CandidateTable(Canvas):
    """Rows of candidates; `pressed_on` carries the row. Up and Down choose another row."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Ranked candidates")
        self.planned: Planned | None = None
        self.rows: tuple[Row, ...] = ()
        self.names_px = 0.0
        self.fields: tuple[str, ...] = ()

    def put(self, planned: Planned) -> None:
        """Show the rows of a plan."""
        self.planned, self.rows = planned, planned.rows
        self.fields = distinguishing(self.rows)
        names = {(short_name(row)[0], mode_of(row, self.fields)) for row in self.rows}
        self.names_px = max(
            (width(a, SUPPORT_PX, 600) + (6 + width(b, LABEL_PX) if b else 0) for a, b in names),
            default=0.0,
        )
        self.setFixedHeight(int(HEAD_PX + ROW_PX * len(self.rows) + 2))
        row = planned.row
        words = "" if row is None else f"{row.configuration}: {self.status(row)}"
        self.setAccessibleDescription(words)
        self.update()

    @property
    def complete(self) -> bool:
        """Whether the statuses of the rows are final."""
        return self.planned is not None and self.planned.complete

    def status(self, row: Row) -> str:
        """The status of a row in words."""
        return status_words(row, self.complete)

    def row_top(self, row: Row) -> float:
        """The y of the top of a row."""
        return HEAD_PX + ROW_PX * self.rows.index(row)

    def draw(self, paint: Paint) -> None:
        planned, theme = self.planned, self.theme
        if planned is None or planned.spec is None:
            return
        placed = self._placed(planned)
        for column, right in placed:
            for at, words in enumerate(column.head):
                paint.text(right, 9 + 14 * at, words, theme.ink3, LABEL_PX, align=1.0)
        limits, binds = self._ends()
        paint.text(_RANK_PX + 8, 23, "Configuration", theme.ink3)
        paint.text(limits, 23, "Limits", theme.ink3)
        if self.width() >= _NARROW_PX:
            paint.text(binds, 23, "Binds", theme.ink3)
        chosen = planned.row
        seen = self.visibleRegion().boundingRect()
        first = max(int((seen.top() - HEAD_PX) // ROW_PX), 0)
        last = int((seen.bottom() - HEAD_PX) // ROW_PX) + 1
        for at, row in list(enumerate(self.rows))[first:last]:
            box = QRectF(0, HEAD_PX + ROW_PX * at, self.width(), ROW_PX)
            if row is chosen:
                paint.area(box, theme.b, 0.16)
            elif row is self.over:
                paint.area(box, theme.bg3)
            paint.line([(0, box.top()), (self.width(), box.top())], theme.line)
            self._row(paint, row, at + 1, box.center().y(), placed)

    def _row(
        self, paint: Paint, row: Row, rank: int, y: float, placed: list[tuple[Column, float]]
    ) -> None:
        theme = self.theme
        holds = row.status in ("fits", "uncertain")
        ink, quiet = (theme.ink, theme.ink3) if holds else (theme.ink3, theme.ink3)
        paint.text(_RANK_PX, y, f"{rank}", theme.ink3, LABEL_PX, align=1.0)
        name, mode = short_name(row)
        room = (placed[0][1] - placed[0][0].px if placed else self.width()) - _RANK_PX - 8
        box = paint.text(_RANK_PX + 8, y, name, ink, SUPPORT_PX, 600, room=room)
        left = box.right() + 6
        mode = fitting(_RANK_PX + 8 + room - left, mode, mode_of(row, self.fields), "")
        paint.text(left, y, mode, theme.ink3, LABEL_PX)
        for column, right in placed:
            figure, ends = column.cell(row)
            if ends:
                wide = width(ends, LABEL_PX)
                paint.text(right, y, ends, quiet, LABEL_PX, align=1.0)
                right -= wide + 6
            weight = 600 if column.rank == 0 else 400
            paint.text(right, y, figure, ink, SUPPORT_PX, weight, align=1.0)
        limits, binds = self._ends()
        colour = {"fits": theme.ink, "uncertain": theme.c}.get(row.status, theme.danger)
        colour = theme.ink2 if is_preliminary(row, self.complete) else colour
        paint.text(limits, y, self.status(row), colour, SUPPORT_PX, 600, room=_LIMITS_PX)
        if row.binds in _MARKED:
            paint.mark(row.binds, binds + 5, y, 4.2, opacity=1.0 if holds else 0.6)
        words = row.binds if row.binds != "communication" else "links"
        if self.width() < _NARROW_PX:
            return
        paint.text(binds + 14, y, words, theme.ink2 if holds else theme.ink3, LABEL_PX)

    def _ends(self) -> tuple[float, float]:
        """The x of the last two columns."""
        binds = self.width() - (_BINDS_PX if self.width() >= _NARROW_PX else _MARK_PX)
        return binds - (_LIMITS_PX if self.width() >= _NARROW_PX else _LIMITS_PX - 8), binds

    def _placed(self, planned: Planned) -> list[tuple[Column, float]]:
        """The columns that fit, each with the x-coordinate of its right edge."""
        assert planned.spec is not None
        right = self._ends()[0] - 10
        left = _RANK_PX + 8 + max(width("Configuration"), self.names_px) + 8
        placed: list[tuple[Column, float]] = []
        for column in reversed(shown(columns(planned.spec), right - left)):
            placed.insert(0, (column, right))
            right -= column.px
        return placed

    def hit(self, at: QPointF) -> Any:
        place = int((at.y() - HEAD_PX) // ROW_PX)
        return self.rows[place] if at.y() >= HEAD_PX and place < len(self.rows) else None

    def item_rows(self) -> list[list[str]]:
        planned = self.planned
        if planned is None or planned.spec is None or planned.row is None:
            return []
        return texts(planned.spec, (self.over or planned.row,), self.complete)

    def card_at(self) -> QPointF:
        row = self.over or (self.planned.row if self.planned else None)
        return self.at if row is None else QPointF(_RANK_PX, self.row_top(row) + ROW_PX)

    def event(self, event: QEvent) -> bool:
        """Show the full configuration and the reason as the tooltip of a row."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            row = self.hit(QPointF(event.pos()))
            why = f"{row.configuration}: {row.reason or self.status(row)}" if row else ""
            QToolTip.showText(event.globalPos(), why, self)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        rows = self.rows
        chosen = self.planned.row if self.planned else None
        if chosen is None:
            super().keyPressEvent(event)
            return
        at = [candidate_of(row) for row in rows].index(candidate_of(chosen))
        to = {
            Qt.Key.Key_Down: at + 1,
            Qt.Key.Key_Up: at - 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(rows) - 1,
        }.get(Qt.Key(event.key()))
        if to is None:
            super().keyPressEvent(event)
        else:
            self.pressed_on.emit(rows[min(max(to, 0), len(rows) - 1)])
