"""Patterns of module paths: "layers.*" matches every layer and all modules in it.

Patterns match part by part between dots: `*` matches any letters within a part, `#` a number, `**`
any number of parts. "**" alone matches the whole network, and "**.#" the outermost modules of
lists, which are the blocks of most networks.
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
    """The path of the module at or above `path` that a pattern matches; None without a match."""
    if pattern == ALL:
        return ""
    match = _compiled(pattern).match(path + ".")
    return match[1].rstrip(".") if match else None


def check(pattern: str, paths: Iterable[str]) -> None:
    """Raise InputError if a pattern matches none of these paths."""
    distinct = sorted(set(paths))
    if not any(block(pattern, path) is not None for path in distinct):
        tops = sorted({path.split(".")[0] for path in distinct if path})
        raise InputError(
            f"no module matches {pattern!r}: expected a path or a pattern such as 'layers.*'; the "
            f"network has {', '.join(tops) or 'one module only'}"
        )
