"""The register of what-ifs: one decorated function is a what-if, its control and its help.

    @whatif("hardware")
    def bandwidth(setting: Setting, times: Annotated[float, Range(0.1, 10, log=True)] = 2.0):
        '''DRAM bandwidth, this many times the data sheet's.'''
        return replace(setting, gpu=...)

    bandwidth(scenario, times=2)                   # a new scenario
    apply(scenario, "bandwidth", {"times": 2})     # the same by name
    apply(scenario, *parse("+bandwidth=2"))        # the same as a command writes it

The body says what changes in a setting (what a scenario comes to). Around it, the decorated
function checks the arguments, tries the change, and notes it in the scenario.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import wraps
from typing import Concatenate, Literal, ParamSpec, get_args

from simulator.errors import InputError
from simulator.scenario.parameters import Parameter, parameters
from simulator.scenario.resolved import ResolvedScenario, resolve
from simulator.scenario.scenario import Applied, Scenario, Value

Group = Literal["precision", "shape", "kernels", "launch", "hardware", "training"]
GROUPS: tuple[Group, ...] = get_args(Group)
P = ParamSpec("P")


@dataclass(frozen=True)
class WhatIf:
    """One what-if: `body(setting, **arguments)` is the setting with the change made."""

    name: str
    group: Group
    help: str
    parameters: tuple[Parameter, ...]
    body: Callable[..., ResolvedScenario]

    def checked(self, arguments: Mapping[str, object]) -> dict[str, Value]:
        """Every argument, the ones left out by default. InputError for what does not fit."""
        known = {p.name: p for p in self.parameters}
        for name in arguments:
            if name not in known:
                expected = f"expected {', '.join(known)}" if known else "expected none"
                raise InputError(f"{self.name} has no argument {name!r}: {expected}; leave it out")
        found: dict[str, Value] = {}
        for name, parameter in known.items():
            value = arguments.get(name, parameter.default)
            if value is None:
                raise InputError(f"{self.name} needs {name}: expected {self.usage}; give it")
            found[name] = parameter.check(self.name, value)
        return found

    @property
    def usage(self) -> str:
        """As a command writes it, such as "+bandwidth=2.0"."""
        parts = [
            f"{p.name}={p.name.upper() if p.default is None else _word(p.default)}"
            for p in self.parameters
        ]
        if not parts:
            return f"+{self.name}"
        first = parts[0].partition("=")[2]
        return ",".join([f"+{self.name}={first}", *parts[1:]])


_WHATIFS: dict[str, WhatIf] = {}


def whatif(
    group: Group,
) -> Callable[
    [Callable[Concatenate[ResolvedScenario, P], ResolvedScenario]],
    Callable[Concatenate[Scenario, P], Scenario],
]:
    """Register a what-if by its function's name; a second one of that name raises ValueError."""

    def decorate(
        body: Callable[Concatenate[ResolvedScenario, P], ResolvedScenario],
    ) -> Callable[Concatenate[Scenario, P], Scenario]:
        name = body.__name__
        if name in _WHATIFS:
            raise ValueError(f"{name!r} is a what-if already")
        text = " ".join((inspect.getdoc(body) or "").split("\n\n")[0].split())
        if not text:
            raise ValueError(f"{name!r} has no docstring: expected its help")
        found = WhatIf(name, group, text, parameters(body), body)
        if any(p.name == "name" for p in found.parameters):
            raise ValueError(f"{name!r} has a parameter 'name', which a scenario's file needs")
        _WHATIFS[name] = found
        signature = inspect.signature(body)

        @wraps(body)
        def applied(scenario: Scenario, /, *args: P.args, **kwargs: P.kwargs) -> Scenario:
            bound = signature.bind(scenario, *args, **kwargs).arguments
            return apply(scenario, name, dict(list(bound.items())[1:]))

        return applied

    return decorate


def whatifs() -> tuple[WhatIf, ...]:
    """Every what-if, by group."""
    return tuple(sorted(_WHATIFS.values(), key=lambda w: GROUPS.index(w.group)))


def registered(name: str) -> WhatIf | None:
    """The what-if of this name, if there is one."""
    return _WHATIFS.get(name)


def named(name: str) -> WhatIf:
    """The what-if of this name; InputError with the nearest names where there is none."""
    if name not in _WHATIFS:
        near = get_close_matches(name, _WHATIFS, 2)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise InputError(
            f"unknown what-if {name[:60]!r}: {hint or '`ridgepoint whatifs` lists all'}"
        )
    return _WHATIFS[name]


def apply(scenario: Scenario, name: str, arguments: Mapping[str, object] | None = None) -> Scenario:
    """The scenario with a what-if applied; itself where that changes nothing.

    InputError, with the reason, where it cannot be applied; the scenario is untouched.
    """
    return applied_to(scenario, resolve(scenario), name, arguments)[0]


def applied_to(
    scenario: Scenario,
    before: ResolvedScenario,
    name: str,
    arguments: Mapping[str, object] | None = None,
) -> tuple[Scenario, ResolvedScenario]:
    """`apply` for whoever has the scenario's setting, with the new one."""
    found = named(name)
    checked = found.checked(arguments or {})
    after = found.body(before, **checked).possible()
    if after == before:
        return scenario, before
    return replace(scenario, whatifs=(*scenario.whatifs, Applied(name, checked))), after


def parse(text: str) -> tuple[str, dict[str, Value]]:
    """A what-if as a command writes it: "+cuda_graph", "+bandwidth=2", "+remove=gelu,modules=x".

    The first value is the first parameter's; the others are named.
    """
    name, equals, rest = text.strip().removeprefix("+").partition("=")
    found = named(name.strip().replace("-", "_"))
    if not equals:
        return found.name, {}
    arguments: dict[str, Value] = {}
    known = [p.name for p in found.parameters]
    for place, part in enumerate(rest.split(",")):
        key, given, value = part.partition("=")
        if not given:
            if place or not known:
                raise InputError(f"{text!r}: expected {found.usage}; name the argument of {part!r}")
            key, value = known[0], key
        arguments[key.strip()] = value_of(value.strip())
    return found.name, arguments


def to_text(applied: Applied) -> str:
    """A what-if as a command writes it: the value that it is about, and what is not by default
    (which is also said of a pattern, such as that of +recompute)."""
    found = named(applied.name)
    given = [(p, applied.arguments.get(p.name, p.default)) for p in found.parameters]
    parts = [f"{p.name}={_word(v)}" for p, v in given[1:] if v != p.default and v is not None]
    usual = given and given[0][1] == given[0][0].default and given[0][0].kind == "text"
    if not given or (usual and not parts):
        return f"+{applied.name}"
    return ",".join([f"+{applied.name}={_word(given[0][1])}", *parts])


def value_of(text: str) -> Value:
    """A number, true or false, numbers joined by ':' (a tuple), or the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    parts = text.split(":")
    if len(parts) > 1 and all(part.isdigit() for part in parts):
        return tuple(int(part) for part in parts)
    return text


def _word(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ":".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
