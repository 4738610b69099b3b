"""Order the lines of a kernel: loads first, as in Inductor, so that no load waits for a sum over a
row that it does not depend on."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = re.compile(r"[A-Za-z_]\w*")


def loads_first(lines: Iterable[str]) -> list[str]:
    """Move each load directly after the last line that defines a name that it uses; the other lines
    keep their order. Each line defines at most one name, and each name is defined once."""
    ordered: list[str] = []
    defined: dict[str, int] = {}
    for line in lines:
        name, _, text = line.partition(" = ")
        place = len(ordered)
        if text.startswith("tl.load("):
            place = 1 + max((defined.get(used, -1) for used in _NAME.findall(text)), default=-1)
            while place < len(ordered) and " = tl.load(" in ordered[place]:
                place += 1  # after the loads already there
        ordered.insert(place, line)
        defined = {n: at + (at >= place) for n, at in defined.items()}
        defined[name] = place
    return ordered
