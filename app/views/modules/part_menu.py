"""Menu entries of what-ifs for a part of the network. Refused what-ifs are disabled, with the
reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from app.scenes.part_what_ifs import PartChange
from app.widgets.context_menu import Entry
from simulator.scenario.scenario import Scenario


def part_entries(
    changes: Sequence[PartChange], apply: Callable[[Scenario], object]
) -> tuple[Entry, ...]:
    """An entry for each what-if. `apply` is called with the scenario of the selected entry."""
    return tuple(_entry(change, apply) for change in changes)


def _entry(change: PartChange, apply: Callable[[Scenario], object]) -> Entry:
    after = change.scenario
    if after is None:
        note = re.sub(r"^\w+(=\w+)?: ", "", change.words.partition(";")[0])
        return Entry(change.title, None, note, change.words)
    note = change.words.partition(": ")[2]
    return Entry(change.title, partial(apply, after), note, change.words)
