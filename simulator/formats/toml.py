"""TOML text of values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from simulator.errors import InputError


def table(name: str, values: Mapping[str, Any]) -> list[str]:
    """Lines of a table; those of nested tables come last."""
    plain = [(k, v) for k, v in values.items() if not isinstance(v, Mapping)]
    deeper: list[tuple[str, Any]] = [(k, v) for k, v in values.items() if isinstance(v, Mapping)]
    lines = ["", f"[{name}]", *(f"{key(k)} = {literal(v)}" for k, v in plain)]
    for inner, value in deeper:
        lines += table(f"{name}.{key(inner)}", value)
    return lines


def key(name: str) -> str:
    """A key, quoted if necessary."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else literal(name)


def literal(value: Any) -> str:
    """TOML text of one value. Raises InputError if a scenario or GPU file cannot hold it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):  # JSON strings are TOML strings except for DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and isfinite(value):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(literal, value))}]"  # pyright: ignore[reportUnknownArgumentType]
    raise InputError(
        f"a file cannot hold {shown(value)}: expected finite numbers, text, true, false or tuples "
        "of these; choose one"
    )


def shown(value: object) -> str:
    """A value as short text for a message, even if the value is deeply nested or long."""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "an array"
    text = "a huge number" if isinstance(value, int) and abs(value) > 10**30 else repr(value)
    return text if len(text) <= 66 else f"{text[:60]}…{text[-1]}"
