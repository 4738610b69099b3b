"""The default layouts of Plan and Cluster, which follow the size of the window until a separator
is dragged."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import Qt

if TYPE_CHECKING:
    from app.explorer.docks.workspaces import Docks

_PLAN_PX = (330, 630, 600)
_NARROW_PLAN_PX, _NARROW_PX = (280, 490, 490), 1400
"""Column widths of the Plan page if its workspace is narrower than `_NARROW_PX`; the table stays
wide enough for its figures."""
_SPLIT_SHARE, _SPLIT_PX = 0.24, (330, 400)
"""The width of the editor of a split: a share of the workspace, and its bounds."""
_ABOVE, _BELOW = 56, 44
_DOWN, _ACROSS = Qt.Orientation.Vertical, Qt.Orientation.Horizontal


class _Step(Protocol):
    def __call__(self, docks: Docks, /) -> None: ...


@dataclass(frozen=True)
class PageLayout:
    """The default layout of a page.

    arrange  place the panels, which are not docked yet
    size     give the columns and rows their shares of the current size
    """

    arrange: _Step
    size: _Step


def _dock_all(docks: Docks) -> None:
    for panel in docks.panels:  # in Tab order
        docks.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, panel)


def _show_all(docks: Docks) -> None:
    for panel in docks.panels:
        panel.show()


def _arrange_plan(docks: Docks) -> None:
    """Three columns: the first panel, the other panels one above another, and the last panel."""
    first, *middle, last = docks.panels
    _dock_all(docks)
    for before, panel in pairwise([first, *middle[:1], last]):
        docks.splitDockWidget(before, panel, _ACROSS)
    for before, panel in pairwise(middle):
        docks.splitDockWidget(before, panel, _DOWN)
    _show_all(docks)


def _size_plan(docks: Docks) -> None:
    first, *middle, last = docks.panels
    shares = _PLAN_PX if docks.width() >= _NARROW_PX else _NARROW_PLAN_PX
    docks.resizeDocks([first, *middle[:1], last], list(shares), _ACROSS)
    docks.resizeDocks(middle, [50] * len(middle), _DOWN)


def _arrange_cluster(docks: Docks) -> None:
    """Two columns: the editor of the split, and the cluster above the collectives and the scaling.
    The other views of ranks are in the same groups of tabs.
    """
    split, fabric, ranks, collectives, scaling, timeline = docks.panels
    _dock_all(docks)
    docks.splitDockWidget(split, fabric, _ACROSS)
    docks.splitDockWidget(fabric, scaling, _DOWN)
    docks.splitDockWidget(scaling, collectives, _ACROSS)
    for front, behind in ((fabric, timeline), (collectives, ranks)):
        docks.tabifyDockWidget(front, behind)
    _show_all(docks)
    for panel in (fabric, collectives):
        panel.raise_()


def _size_cluster(docks: Docks) -> None:
    split, fabric, _, collectives, scaling, _ = docks.panels
    least, most = _SPLIT_PX
    wide = min(most, max(least, round(_SPLIT_SHARE * docks.width())))
    half = (docks.width() - wide) // 2  # Qt adds the widths of a row for the column above it
    docks.resizeDocks([split, scaling, collectives], [wide, half, half], _ACROSS)
    docks.resizeDocks([fabric, scaling], [_ABOVE, _BELOW], _DOWN)


PAGE_LAYOUTS = {
    "Plan": PageLayout(_arrange_plan, _size_plan),
    "Cluster": PageLayout(_arrange_cluster, _size_cluster),
}
