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
    """An entry for each what-if that applies, and one for all that are refused for the same reason.
    `apply` is called with the scenario of the selected entry."""
    entries: list[Entry] = []
    refused: dict[str, list[PartChange]] = {}
    for change in changes:
        after = change.scenario
        if after is None:
            refused.setdefault(change.words, []).append(change)
        else:
            note = change.words.partition(": ")[2]
            entries.append(Entry(change.title, partial(apply, after), note, change.words))
    return (*entries, *(_refusal(reason, same) for reason, same in refused.items()))


def _refusal(reason: str, changes: Sequence[PartChange]) -> Entry:
    titles = [changes[0].title] if len(changes) == 1 else [each.name for each in changes]
    note = re.sub(r"^\w+(=\w+)?: ", "", reason.partition(";")[0])
    return Entry(", ".join(dict.fromkeys(titles)), None, note, reason)
