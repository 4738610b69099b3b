"""`ridgepoint whatifs`: every what-if with its controls, off its signature and docstring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from simulator.whatif import Parameter, WhatIf

FORMAT, VERSION = "ridgepoint-whatifs", 1


def whatifs(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One of them.")] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE|-", help="Write it all.")] = None,
) -> None:
    """The what-ifs: what can be changed, and within which bounds."""
    from app import outputs
    from simulator.scenario.registry import named
    from simulator.whatif import whatifs as every

    outputs.check("--json", json)
    found = [named(name.removeprefix("+").replace("-", "_"))] if name else list(every())
    if json:
        from app.report.exports import json_text

        body = {"format": FORMAT, "version": VERSION, "whatifs": [entry(w) for w in found]}
        outputs.write("--json", json, json_text(body))
    if json != outputs.STDOUT:
        _show(found)


def entry(found: WhatIf) -> dict[str, Any]:
    """A what-if as data: name, group, help, usage, and its controls."""
    return {
        "name": found.name,
        "group": found.group,
        "help": found.help,
        "usage": found.usage,
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
            for p in found.parameters
        ],
    }


def control(p: Parameter) -> str:
    """A control in words: "times: 0.1 to 10 ×, by factors; 2 unless given"."""
    from app.quantities import plain

    if p.choices:
        what = " | ".join(p.choices[:8]) + (" …" if len(p.choices) > 8 else "")
    elif p.low is not None and p.high is not None:
        whole = "whole, " if p.kind == "count" else ""
        what = f"{whole}{bound(p.low)} to {bound(p.high)}{f' {p.unit}' if p.unit else ''}"
        what += ", by factors" if p.log else ""
    else:
        what = {"flag": "true | false", "value": "a number, word or tuple"}.get(p.kind, p.kind)
    if p.default is None:
        return f"{p.name}: {what}; must be given"
    value = plain(p.default) if isinstance(p.default, float) else str(p.default)
    return f"{p.name}: {what}; {value.lower() if p.kind == 'flag' else value} unless given"


def bound(value: float) -> str:
    """The end of a range; the largest ones by their power."""
    from app.quantities import plain

    if value == 2**31 - 1:
        return "2³¹ − 1"
    if value == 1 << 20:
        return "2²⁰"
    return f"10^{len(str(int(value))) - 1}" if value >= 1e9 else plain(value)


def _show(found: list[WhatIf]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from app.terminal import Terminal

    console = Terminal(highlight=False)
    width = min(console.width, 100)
    group = ""
    for each in found:
        if each.group != group:
            group = each.group
            console.print(Text(f"\n{group.capitalize()}", "bold underline"))
        console.print(Padding(Text(each.usage, "bold"), (0, 0, 0, 2)), width=width)
        console.print(Padding(Text(each.help), (0, 0, 0, 6)), width=width)
        for parameter in each.parameters:
            line = Text(control(parameter), "dim")
            console.print(Padding(line, (0, 0, 0, 6)), width=width)
    console.print()
    console.print(
        "Apply them in order: ridgepoint whatif bert-base +cuda_graph +precision=fp16\n"
        "Further arguments by name: +precision=fp16,modules=layers.*",
        style="dim",
        markup=False,
    )
