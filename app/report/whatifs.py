"""The what-ifs with their controls: a list on the terminal, and a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.padding import Padding
from rich.text import Text

from app.quantities import plain
from app.terminal import Terminal
from simulator.whatif import Parameter, WhatIf

FORMAT, VERSION = "ridgepoint-whatifs", 1


def entry(whatif: WhatIf) -> dict[str, Any]:
    """A what-if as data: name, group, help, usage, and its controls."""
    return {
        "name": whatif.name,
        "group": whatif.group,
        "help": whatif.help,
        "usage": whatif.usage,
        "controls": [
            {
                "name": p.name,
                "kind": p.kind,
                "default": p.default,
                "low": p.low,
                "high": p.high,
                "log": p.log,
                "unit": p.unit,
                "choices": list(p.choices),
            }
            for p in whatif.parameters
        ],
    }


def control(p: Parameter) -> str:
    """A control in words: "times: 0.1 to 10 ×, logarithmic; default 2"."""
    if p.choices:
        domain = " | ".join(p.choices[:8]) + (" …" if len(p.choices) > 8 else "")
    elif p.low is not None and p.high is not None:
        whole = "whole, " if p.kind == "count" else ""
        domain = f"{whole}{bound(p.low)} to {bound(p.high)}{f' {p.unit}' if p.unit else ''}"
        domain += ", logarithmic" if p.log else ""
    else:
        domain = {"flag": "true | false", "value": "a number, word or tuple"}.get(p.kind, p.kind)
    if p.default is None:
        return f"{p.name}: {domain}; required"
    value = plain(p.default) if isinstance(p.default, float) else str(p.default)
    return f"{p.name}: {domain}; default {value.lower() if p.kind == 'flag' else value}"


def bound(value: float) -> str:
    """A bound of a range; large bounds as a power."""
    if value == 2**31 - 1:
        return "2³¹ − 1"
    if value == 1 << 20:
        return "2²⁰"
    return f"10^{len(str(int(value))) - 1}" if value >= 1e9 else plain(value)


def document(listed: Sequence[WhatIf]) -> dict[str, Any]:
    """The list as a JSON document."""
    return {"format": FORMAT, "version": VERSION, "whatifs": [entry(w) for w in listed]}


def show(listed: Sequence[WhatIf]) -> None:
    """Print the what-ifs by group."""
    console = Terminal(highlight=False)
    width = min(console.width, 100)
    group = ""
    for whatif in listed:
        if whatif.group != group:
            group = whatif.group
            console.print(Text(f"\n{group.capitalize()}", "bold underline"))
        console.print(Padding(Text(whatif.usage, "bold"), (0, 0, 0, 2)), width=width)
        console.print(Padding(Text(whatif.help), (0, 0, 0, 6)), width=width)
        for parameter in whatif.parameters:
            line = Text(control(parameter), "dim")
            console.print(Padding(line, (0, 0, 0, 6)), width=width)
    console.print()
    console.print(
        "What-ifs apply in order: ridgepoint whatif bert-base +cuda_graph +precision=fp16\n"
        "Further arguments by name: +precision=fp16,modules=layers.*",
        style="dim",
        markup=False,
    )
