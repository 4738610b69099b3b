"""What-ifs as commands write them: "+cuda_graph", "+bandwidth=2", "+remove=gelu,modules=x"."""

from __future__ import annotations

from simulator.errors import InputError
from simulator.scenario.module_pattern import ALL
from simulator.scenario.parameters import word
from simulator.scenario.registry import named
from simulator.scenario.scenario import Applied, Value


def parse(text: str) -> tuple[str, dict[str, Value]]:
    """Parse a what-if, as a command writes it, into its name and arguments.

    The first value is for the first parameter; the others are named. Raises InputError if the
    what-if is unknown or a value has no name.
    """
    name, equals, rest = text.strip().removeprefix("+").partition("=")
    whatif = named(name.strip().replace("-", "_"))
    if not equals:
        return whatif.name, {}
    arguments: dict[str, Value] = {}
    known = [p.name for p in whatif.parameters]
    for place, part in enumerate(rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            if place or not known:
                raise InputError(
                    f"{text!r}: expected {whatif.usage}; name the argument of {part!r}"
                )
            key, value = known[0], key
        arguments[key.strip()] = value_of(value.strip())
    return whatif.name, arguments


def to_text(applied: Applied) -> str:
    """Write a what-if as a command does: its first argument, and the others that are not defaults.

    If all arguments are defaults, a first argument that is a text, such as the pattern of
    +recompute, is left out too.
    """
    whatif = named(applied.name)
    values = [(p, applied.arguments.get(p.name, p.default)) for p in whatif.parameters]
    parts = [f"{p.name}={word(v)}" for p, v in values[1:] if v != p.default and v is not None]
    usual = values and values[0][1] == values[0][0].default and values[0][0].kind == "text"
    if not values or (usual and not parts):
        return f"+{applied.name}"
    return ",".join([f"+{applied.name}={word(values[0][1])}", *parts])


def to_full_text(applied: Applied) -> str:
    """A what-if as on the command line, always with its value: +precision=bf16."""
    text, known = to_text(applied), named(applied.name).parameters
    if "=" in text or not known or known[0].default in (None, ALL):
        return text
    return f"{text}={word(known[0].default)}"


def value_of(text: str) -> Value:
    """A number, a bool, numbers joined by ":" as a tuple, or else the text itself."""
    parts = text.split(":")
    if len(parts) > 1 and all(part.isdigit() for part in parts):
        return tuple(int(part) for part in parts)
    return scalar_of(text)


def scalar_of(text: str) -> float | bool | str:
    """A number, a bool, or else the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
