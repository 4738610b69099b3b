"""Parallel coordinates in a window: the lines, their axes and their geometry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QSize

from app.scenes.combinations.importance import GroupSummary
from app.scenes.combinations.table import CombinationColumn, CombinationTable, in_sentence
from app.scenes.pixel_scale import Floats, Scale
from app.theme import LABEL_PX, Theme, ordered_colours
from app.views.combinations.axis import (
    FOOT,
    TOP,
    Brush,
    draw_axis,
    draw_median,
    draw_share,
    scale_of,
)
from app.views.combinations.lines import Lines, ordered_styles
from app.views.combinations.spacing import Spacing, spacing
from app.widgets.canvas import CARD_LINE, Canvas, Card
from app.widgets.paint import Paint

_REACH, _NEAR = 14.0, 6.0


class LinesPicture(Canvas):
    """`brushes` maps columns to intervals; rows outside one are filtered out. `over` is the row of
    the line under the pointer or selected by a key. `shares` are written below the axes; `groups`
    are marked on the axis of the explained `figure`."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Every combination as a line through its values and figures")
        self.table: CombinationTable | None = None
        self.lines = Lines(np.zeros(0, np.int64))
        self.brushes: dict[int, Brush] = {}
        self.fastest_first: NDArray[np.int64] = np.zeros(0, np.int64)
        self.axis = 0
        self.stale = False
        self.failure = ""
        """The reason why there are no combinations of the current scenario."""
        self.shares: dict[str, float] = {}
        self.groups: tuple[GroupSummary, ...] = ()
        self.figure = self.by = ""
        self._brush_from: tuple[int, float] | None = None
        self._spacing: tuple[CombinationTable | None, QSize, Spacing] | None = None
        self._dragged_title: tuple[int, int] | None = None

    def show_table(self, table: CombinationTable, fastest_first: NDArray[np.int64]) -> None:
        """Draw a table; `fastest_first` orders its rows. Brushes on unchanged columns are kept."""
        before = self.table.columns if self.table else ()
        brushed = {before[at].name: (before[at].words, b) for at, b in self.brushes.items()}
        self.brushes = {
            at: brushed[c.name][1]
            for at, c in enumerate(table.columns)
            if c.name in brushed and brushed[c.name][0] == c.words
        }
        if [c.name for c in before] != [c.name for c in table.columns]:
            self._brush_from = self._dragged_title = None  # the dragged axis moved or vanished
        self.axis = min(self.axis, len(table.columns) - 1)
        self.table, self.stale, self.failure = table, False, ""
        self.fastest_first, self.over = fastest_first, None
        self.group(self.by)

    def fail(self, reason: str) -> None:
        """Show the reason in place of the combinations of an earlier scenario."""
        self.table, self.stale, self.over, self.failure = None, False, None, reason
        self.update()

    def group(self, by: str) -> None:
        """Colour the lines by the values of an axis, or by regime if there is no such axis."""
        table = self.table
        if table is None:
            return
        self.by = by
        axis = next((c for c in table.columns if c.words and c.name == by), None)
        if axis is None:
            self.lines = Lines(table.regimes)
        else:
            values = axis.values.astype(np.int64)
            self.lines = Lines(values, ordered_styles(len(axis.words)))
        self.update()

    @property
    def matching(self) -> NDArray[np.bool_]:
        """Whether each row passes through every brush."""
        assert self.table is not None
        rows = np.ones(len(self.table), np.bool_)
        for at, (low, high) in self.brushes.items():
            values = self.table.columns[at].values
            rows &= (values >= low) & (values <= high)
        return rows

    def scale(self, column: CombinationColumn) -> Scale:
        """The vertical scale of a column."""
        return scale_of(column, self.height())

    @property
    def spacing(self) -> Spacing:
        """The places of the axes."""
        table, size = self.table, self.size()
        if self._spacing is None or self._spacing[0] is not table or self._spacing[1] != size:
            columns = table.columns if table else ()
            self._spacing = table, size, spacing(columns, size.width(), size.height())
        return self._spacing[2]

    def across(self, at: int) -> float:
        """The x coordinate of an axis."""
        return self.spacing.xs[at]

    def heights(self, table: CombinationTable) -> Floats:
        """The y coordinates of rows at the axes [rows, columns]."""
        return np.stack([self.scale(c).many(c.values) for c in table.columns], axis=1)

    # painting

    def draw(self, paint: Paint) -> None:
        theme, table = self.theme, self.table
        if table is None or not len(table):
            waiting = self.failure or "Predicting all combinations …"
            self.paint_message(paint, waiting if table is None else "No combination can run.")
            return
        paint.painter.setOpacity(0.6 if self.stale else 1.0)
        ys = self.heights(table)
        spaces = self.spacing
        xs = list(spaces.xs)
        names = tuple(column.name for column in table.columns)
        brushes = names, tuple(sorted(self.brushes.items()))
        self.lines.draw(paint, self.size(), xs, ys, self.matching, brushes)
        if self.over is not None:
            points = [(x, float(y)) for x, y in zip(xs, ys[int(self.over)], strict=True)]
            paint.line(points, theme.ink, 2.4, casing=theme.bg1)
        for at, column in enumerate(table.columns):
            here = at == self.axis and self.hasFocus()
            draw_axis(
                paint,
                column,
                xs[at],
                self.height(),
                spaces.title_room[at],
                spaces.value_room[at],
                spaces.low[at],
                here,
                self.brushes.get(at),
            )
            if column.name in self.shares:
                share = self.shares[column.name]
                draw_share(paint, xs[at], self.height(), share, spaces.nearest)
            if column.name == self.figure:
                self._draw_medians(paint, column, xs[at])
        named = [
            x for x, column in zip(xs, table.columns, strict=True) if column.name in self.shares
        ]
        if named:
            left = max(named) + max(spaces.nearest / 2, 24)
            words = f"of the spread of {in_sentence(self.figure)}"
            room = self.width() - left - 4
            paint.text(left, self.height() - 10, words, theme.ink3, LABEL_PX, room=room)
        if self._dragged_title is not None and self._dragged_title[0] != self._dragged_title[1]:
            x = self.across(self._dragged_title[1])
            paint.line([(x, 4), (x, self.height() - FOOT)], theme.b, 2.4)
        paint.painter.setOpacity(1.0)

    def _draw_medians(self, paint: Paint, column: CombinationColumn, x: float) -> None:
        columns = self.table.columns if self.table else ()
        axis = next((c for c in columns if c.name == self.by), None)
        if axis is not None:
            colours = ordered_colours(self.theme, len(axis.words))
            for group in self.groups:
                draw_median(paint, x, self.scale(column).at(group.median), colours[group.value])

    def card(self) -> Card | None:
        table = self.table
        if table is None or self.over is None:
            return None
        row = int(self.over)
        figures = [(c.name, c.value_text(float(c.values[row]))) for c in table.columns]
        rows = tuple(figures[: max(3, int((self.height() - 44) / CARD_LINE))])  # as many as fit
        regime = table.regime(row)
        return Card("Combination", rows, f"{regime}-bound", regime)

    def card_at(self) -> QPointF:
        return self.at if self.at.x() >= 0 else QPointF(self.width() / 2, TOP)

    # the pointer

    def axis_at(self, at: QPointF) -> int | None:
        """The axis near a point, or None."""
        if self.table is None or not TOP - 10 <= at.y() <= self.height() - FOOT + 10:
            return None
        near = self.nearest(at)
        return near if abs(self.across(near) - at.x()) < _REACH else None

    def hit(self, at: QPointF) -> int | None:
        """The row of the matching line at a point between two axes, or None."""
        table = self.table
        if (
            table is None
            or not len(table)
            or len(table.columns) < 2
            or self.axis_at(at) is not None
        ):
            return None
        xs = self.spacing.xs
        left = int(np.searchsorted(xs, at.x(), "right")) - 1
        rows = np.flatnonzero(self.matching)
        if not 0 <= left < len(xs) - 1 or not rows.size:
            return None
        along = (at.x() - xs[left]) / max(1.0, xs[left + 1] - xs[left])
        ends = [self.scale(c).many(c.values[rows]) for c in table.columns[left : left + 2]]
        away = np.abs(ends[0] + (ends[1] - ends[0]) * along - at.y())
        best = int(np.argmin(away))
        return int(rows[best]) if away[best] < _NEAR else None

    def nearest(self, at: QPointF) -> int:
        """The axis nearest to a point."""
        return int(np.argmin([abs(x - at.x()) for x in self.spacing.xs]))
