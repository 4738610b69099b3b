"""Write a plan's spec as TOML, with the sections in the order of the documentation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

_SECTIONS = ("workload", "load", "limits", "candidates", "prices", "simulation")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def spec_text(table: Mapping[str, Any]) -> str:
    """The TOML text of a plan's mapping; reading it gives an equal mapping. Empty sections are left
    out."""
    order = [name for name in _SECTIONS if name in table]
    order += [name for name in table if name not in _SECTIONS]
    return "\n".join(filter(None, (_section(name, table[name]) for name in order)))


def _section(name: str, values: Mapping[str, Any]) -> str:
    """A section with its subsections; lengths of requests are inline tables."""
    lines: list[str] = []
    below: list[str] = []
    for key, value in values.items():
        if isinstance(value, Mapping) and key not in ("prompt", "output"):
            below.append(_section(f"{name}.{_key(key)}", cast("Mapping[str, Any]", value)))
        else:
            lines.append(f"{_key(key)} = {_value(value)}\n")
    head = f"[{name}]\n" if lines else ""
    return "\n".join(filter(None, [head + "".join(lines), *below]))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in items) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, cast("list[Any]", value))) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # TOML's basic strings escape as JSON does
    return repr(value)
