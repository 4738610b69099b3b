"""Terms: expressions for one element in the kernel's source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simulator.kernel_source.sizes import Names, Size

Hint = str
"""How the check fills an operand: "normal", "positive", "flag", "count", "index:N"."""


@dataclass(frozen=True)
class Term:
    """A name or a literal; `depends` are the loop variables that it depends on."""

    text: str
    depends: frozenset[str] = frozenset()


def literal(value: Any, names: Names, prefix: str = "") -> str:
    """A plain argument as source; a negative number in parentheses."""
    if isinstance(value, Size):
        return names.text(value, prefix)
    if isinstance(value, str):  # infinity or NaN, for which JSON has no number
        return f'float("{value}")'
    shown = repr(value)
    return f"({shown})" if shown.startswith("-") else shown


def kind(dtype: str) -> str:
    """ "float", "int" or "bool"."""
    if dtype == "bool":
        return "bool"
    return "float" if "float" in dtype else "int"
