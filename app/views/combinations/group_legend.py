"""The legend of grouped combinations: each value with its count and the median of a figure."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.quantities import plain
from app.scenes.combinations.importance import GroupSummary
from app.theme import LABEL_PX, Theme, ordered_colours
from app.widgets.paint import Paint, width

_ROW_PX, _SWATCH_PX, _GAP_PX, _LEFT = 18.0, 14.0, 18.0, 14.0


class GroupLegend(QWidget):
    """Shows groups in as many rows as its width requires; hidden without groups."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.head = ""
        self.values = 0
        self.groups: tuple[GroupSummary, ...] = ()
        self.counted = False
        """Whether groups have different numbers of lines, so that the numbers are shown."""
        self.setAccessibleName("Groups")
        self.hide()

    def show_groups(self, head: str, values: int, groups: Sequence[GroupSummary]) -> None:
        """Show a title and groups. Each group is one value of an axis; `values` is the number of
        values of that axis, which determines the colours.
        """
        self.head, self.values, self.groups = head, values, tuple(groups)
        self.counted = len({group.count for group in self.groups}) > 1
        self.setAccessibleDescription("; ".join([head, *map(self.entry, self.groups)]))
        self.setVisible(bool(groups))
        self._fit()
        self.update()

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        self.update()

    def places(self) -> list[tuple[float, float]]:
        """The left end and the middle of each entry, in pixels."""
        entry_places: list[tuple[float, float]] = []
        x, y = _LEFT + width(self.head, LABEL_PX, 600) + _GAP_PX, _ROW_PX / 2
        for group in self.groups:
            wide = _SWATCH_PX + 6 + width(self.entry(group))
            if x > _LEFT and x + wide > self.width() - _LEFT:
                x, y = _LEFT, y + _ROW_PX
            entry_places.append((x, y))
            x += wide + _GAP_PX
        return entry_places

    def entry(self, group: GroupSummary) -> str:
        """The words of a group: "H200 SXM 1.46 ms, 320 lines"."""
        words = f"{group.text}  {group.median_text}"
        if not self.counted:
            return words
        return f"{words}, {plain(group.count)} line{'s' * (group.count != 1)}"

    def _fit(self) -> None:
        places = self.places()
        self.setFixedHeight(round(places[-1][1] + _ROW_PX / 2 + 6) if places else 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()
        super().resizeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint = Paint(painter, self.theme)
        painter.fillRect(self.rect(), QColor(self.theme.bg1))
        paint.text(_LEFT, _ROW_PX / 2, self.head, self.theme.ink2, LABEL_PX, 600)
        colours = ordered_colours(self.theme, self.values)
        for group, (x, y) in zip(self.groups, self.places(), strict=True):
            paint.area(QRectF(x, y - 2, _SWATCH_PX, 4), colours[group.value], radius=2)
            paint.text(x + _SWATCH_PX + 6, y, self.entry(group), self.theme.ink2)
        painter.end()
