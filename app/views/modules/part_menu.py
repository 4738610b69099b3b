"""The menu of what can be asked of a part of the network; what is refused is greyed, and says
why."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QMenu, QWidget

from app.scenes.part_what_ifs import PartChange
from app.theme import BODY_PX
from app.widgets.paint import elided
from simulator.scenario.scenario import Scenario

_REASON_PX = 560.0
"""Of the reason beside what is refused."""


def part_menu(
    head: str, changes: Sequence[PartChange], asked: Callable[[Scenario], object], parent: QWidget
) -> QMenu:
    """A menu under a head that names the part; `asked` is given the scenario that is chosen."""
    menu = QMenu(parent)
    menu.setToolTipsVisible(True)
    menu.addAction(head).setEnabled(False)
    menu.addSeparator()
    for change in changes:
        after = change.scenario
        if after is None:
            said = re.sub(r"^\w+(=\w+)?: ", "", change.words.partition(";")[0])
        else:
            said = change.words.partition(": ")[2]
        said = elided(said, _REASON_PX, BODY_PX)
        action = menu.addAction(f"{change.title}    {said}" if said else change.title)
        action.setToolTip(change.words)
        action.setEnabled(after is not None)
        action.triggered.connect(lambda _=False, to=after: asked(to) if to is not None else None)
    return menu
