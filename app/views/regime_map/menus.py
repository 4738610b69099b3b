"""The menus of the regime map: of its axes, and of a point."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QComboBox

from app.scenes.regime_map.scene import Chart, Spot
from app.scenes.sweep.curves import axis_name, within_words
from app.views.regime_map.cursor import in_words, spot_words
from app.widgets.context_menu import Entry, copy_entry
from simulator.scenario.scenario import Scenario


def offer_axes(menu: QComboBox, names: Sequence[str], chosen: str) -> None:
    """Offer the axes in a menu, without a signal."""
    with QSignalBlocker(menu):
        if [menu.itemData(i) for i in range(menu.count())] != list(names):
            menu.clear()
            for name in names:
                menu.addItem(axis_name(name), name)
        menu.setCurrentIndex(list(names).index(chosen))


def spot_entries(
    chart: Chart,
    spot: Spot,
    after: Scenario | None,
    use: Callable[[], object],
    add: Callable[[str, Scenario], object],
) -> list[Entry]:
    """What can be done with a point: `use` it, or `add` its scenario `after`, which is None at the
    point of the current scenario."""
    copied = copy_entry("Copy figures", [list(in_words(chart, spot))])
    name = within_words(spot_words(chart, spot))
    if after is None:
        return [Entry(f"Use {name}", None, "in use"), copied]
    return [
        Entry(f"Use {name}\tEnter", use),
        Entry(f"Add a scenario with {name}", lambda: add(name, after)),
        copied,
    ]
