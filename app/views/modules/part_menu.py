"""The menu of what-ifs for a part of the network. Refused what-ifs are disabled, with the
reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QMenu, QWidget

from app.scenes.part_what_ifs import PartChange
from app.theme import BODY_PX
from app.widgets.paint import elided
from simulator.scenario.scenario import Scenario

_NOTE_PX = 560.0
"""The largest width of the text beside a menu entry."""


def part_menu(
    head: str, changes: Sequence[PartChange], apply: Callable[[Scenario], object], parent: QWidget
) -> QMenu:
    """Return a menu titled `head`. `apply` is called with the scenario of the selected entry."""
    menu = QMenu(parent)
    menu.setToolTipsVisible(True)
    menu.addAction(head).setEnabled(False)
    menu.addSeparator()
    for change in changes:
        after = change.scenario
        if after is None:
            note = re.sub(r"^\w+(=\w+)?: ", "", change.words.partition(";")[0])
        else:
            note = change.words.partition(": ")[2]
        note = elided(note, _NOTE_PX, BODY_PX)
        action = menu.addAction(f"{change.title}    {note}" if note else change.title)
        action.setToolTip(change.words)
        action.setEnabled(after is not None)
        action.triggered.connect(lambda _=False, to=after: apply(to) if to is not None else None)
    return menu
