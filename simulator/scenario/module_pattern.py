"""Patterns that name modules: "layers.*" is every layer, with all that it contains.

Parts between dots are matched one by one; `*` stands for any letters within a part, `#` for a
number, `**` for any number of parts. "**" alone is the whole network, and "**.#" the outermost
modules of lists: the blocks of most networks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from simulator.errors import InputError

ALL = "**"


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    for part in pattern.split("."):
        if part == "**":
            parts.append(r"(?:[^.]+\.)*?")
        else:
            letters = {"*": "[^.]*", "#": "[0-9]+"}
            parts.append("".join(letters.get(c) or re.escape(c) for c in part) + r"\.")
    return re.compile("(" + "".join(parts) + ")")


def block(pattern: str, path: str) -> str | None:
    """The module at or above `path` that a pattern names, or None."""
    if pattern == ALL:
        return ""
    found = _compiled(pattern).match(path + ".")
    return found[1].rstrip(".") if found else None


def check(pattern: str, paths: Iterable[str]) -> None:
    """InputError where a pattern names none of these modules."""
    known = sorted(set(paths))
    if not any(block(pattern, path) is not None for path in known):
        tops = sorted({path.split(".")[0] for path in known if path})
        raise InputError(
            f"no module fits {pattern!r}: expected a path or a pattern such as 'layers.*'; the "
            f"network has {', '.join(tops) or 'one module only'}"
        )
