"""The order of a kernel's lines: loads first, as Inductor puts them, so that no load waits for a
sum over a row that it has nothing to do with."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = re.compile(r"[A-Za-z_]\w*")


def loads_first(lines: Iterable[str]) -> list[str]:
    """Each load directly after the last line that gives a name it uses; the others keep their
    order. Each line gives at most one name, and none gives one anew."""
    found: list[str] = []
    given: dict[str, int] = {}
    for line in lines:
        name, _, text = line.partition(" = ")
        place = len(found)
        if text.startswith("tl.load("):
            place = 1 + max((given.get(used, -1) for used in _NAME.findall(text)), default=-1)
            while place < len(found) and " = tl.load(" in found[place]:
                place += 1  # behind the loads that stand there already
        found.insert(place, line)
        given = {n: at + (at >= place) for n, at in given.items()}
        given[name] = place
    return found
