"""The default layouts of Explore: two rows of tabs, three groups if there is room, or one row in a
low workspace. In a wide workspace the first two panels are side by side above the third."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QSize, Qt

if TYPE_CHECKING:
    from PySide6.QtWidgets import QDockWidget

    from app.explorer.docks.panel import Panel
    from app.explorer.docks.workspaces import Docks

Shape = Literal["low", "narrow", "wide"]
SHAPES: tuple[Shape, ...] = ("low", "narrow", "wide")
_WIDE_PX, _HIGH_PX, _LOW_PX = 1000, 520, 478
"""In a workspace lower than `_LOW_PX`, two rows of panels would enlarge the window, for example
beyond a screen of 1920 × 1080 at a scale of two."""
_TABS_PX = 30
_ABOVE, _BELOW, _HALF = 58, 42, 50


def shape_of(size: QSize) -> Shape:
    """The layout for a workspace of this size: one, two or three groups of panels."""
    if size.height() < _LOW_PX:
        return "low"
    return "wide" if size.width() >= _WIDE_PX and size.height() >= _HIGH_PX else "narrow"


def least_size(panels: Sequence[Panel]) -> QSize:
    """The size that the layout of a low workspace needs."""
    least = [panel.minimumSizeHint() for panel in panels]
    return QSize(max(s.width() for s in least), max(s.height() for s in least) + _TABS_PX)


def groups(panels: Sequence[Panel], shape: Shape) -> list[list[Panel]]:
    """The groups of tabs, the panel in front first."""
    if shape == "low":
        return [list(panels)]
    first, second = list(panels[::2]), list(panels[1::2])
    if shape == "wide":
        return [group for group in (first[:1] + first[2:], second, first[1:2]) if group]
    return [group for group in (first, second) if group]


def arrange(docks: Docks, shape: Shape) -> None:
    """Place the undocked panels of Explore; the first panel of each group is in front."""
    placed = groups(docks.panels, shape)
    top, *others = (group[0] for group in placed)
    down, across = Qt.Orientation.Vertical, Qt.Orientation.Horizontal
    for panel in docks.panels:  # in Tab order
        docks.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, panel)
    for front, way in zip(reversed(others), (down, across), strict=False):
        docks.splitDockWidget(top, front, way)
    for front, *behind in placed:
        for panel in behind:
            docks.tabifyDockWidget(front, panel)
    for panel in docks.panels:
        panel.show()
    for front, *_ in placed:
        front.raise_()
    divide(docks, shape)


def divide(docks: Docks, shape: Shape) -> None:
    """Give the groups of panels their shares of the current size."""
    down, across = Qt.Orientation.Vertical, Qt.Orientation.Horizontal
    fronts: list[QDockWidget] = [group[0] for group in groups(docks.panels, shape)]
    if len(fronts) == 3:
        half = max(1, docks.width() // 2)  # Qt adds the widths of a row for the column of both rows
        docks.resizeDocks(fronts[:2], [half, half], across)
        docks.resizeDocks([fronts[0], fronts[2]], [_ABOVE, _BELOW], down)
    elif len(fronts) == 2:
        docks.resizeDocks(fronts, [_HALF, _HALF], down)


def is_arranged(docks: Docks, shape: Shape) -> bool:
    """Whether the panels are where `arrange` places them; their sizes and the tabs in front may
    differ."""
    if any(panel.isFloating() or panel.isHidden() for panel in docks.panels):
        return False
    return all(
        {*docks.tabifiedDockWidgets(group[0]), group[0]} == set(group)
        for group in groups(docks.panels, shape)
    )
