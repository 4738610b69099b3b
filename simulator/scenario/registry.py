"""The registered what-ifs, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, get_args

from simulator.errors import InputError
from simulator.scenario.parameters import Parameter, parameters, word
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Value
from simulator.scenario.trial import Sentence, Trial

Group = Literal["precision", "shape", "kernels", "launch", "hardware", "training"]
GROUPS: tuple[Group, ...] = get_args(Group)


@dataclass(frozen=True)
class WhatIf:
    """One what-if. `body(resolved, **arguments)` returns the resolved scenario with the change.

    trials    the arguments with which advice tries it
    sentence  how advice words it; "" for its name
    untried   why advice does not try it; "" with trials
    """

    name: str
    group: Group
    help: str
    parameters: tuple[Parameter, ...]
    body: Callable[..., ResolvedScenario]
    trials: tuple[Trial, ...] = ()
    sentence: Sentence = ""
    untried: str = ""

    def checked(self, arguments: Mapping[str, object]) -> dict[str, Value]:
        """All arguments, with defaults for those left out. Raises InputError if one is wrong."""
        known = {p.name: p for p in self.parameters}
        for name in arguments:
            if name not in known:
                expected = f"expected {', '.join(known)}" if known else "expected none"
                raise InputError(f"{self.name} has no argument {name!r}: {expected}; leave it out")
        values: dict[str, Value] = {}
        for name, parameter in known.items():
            value = arguments.get(name, parameter.default)
            if value is None:
                raise InputError(f"{self.name} needs {name}: expected {self.usage}; give it")
            values[name] = parameter.check(self.name, value)
        return values

    @property
    def usage(self) -> str:
        """The what-if as a command writes it, such as "+bandwidth=2.0"."""
        parts = [
            f"{p.name}={p.name.upper() if p.default is None else word(p.default)}"
            for p in self.parameters
        ]
        if not parts:
            return f"+{self.name}"
        first = parts[0].partition("=")[2]
        return ",".join([f"+{self.name}={first}", *parts[1:]])


_WHATIFS: dict[str, WhatIf] = {}


def register(
    group: Group,
    body: Callable[..., ResolvedScenario],
    trials: tuple[Trial, ...] = (),
    sentence: Sentence = "",
    untried: str = "",
) -> WhatIf:
    """Register a function as a what-if: its name, its parameters, and the first paragraph of its
    docstring as help.

    Raises ValueError if the name is taken, there is no docstring, a parameter is called "name", or
    there are trials without a sentence or with a reason against them.
    """
    name = body.__name__
    if name in _WHATIFS:
        raise ValueError(f"{name!r} is already a what-if")
    text = " ".join((inspect.getdoc(body) or "").split("\n\n")[0].split())
    if not text:
        raise ValueError(f"{name!r} has no docstring: expected its help")
    if trials and (untried or not sentence):
        raise ValueError(f"{name!r} has trials: expected a sentence, and nothing in untried")
    whatif = WhatIf(name, group, text, parameters(body), body, trials, sentence, untried)
    if any(p.name == "name" for p in whatif.parameters):
        raise ValueError(f"{name!r} has a parameter 'name', which a scenario's file needs")
    _WHATIFS[name] = whatif
    return whatif


def whatifs() -> tuple[WhatIf, ...]:
    """All what-ifs, by group."""
    return tuple(sorted(_WHATIFS.values(), key=lambda w: GROUPS.index(w.group)))


def registered(name: str) -> WhatIf | None:
    """The what-if of this name, or None."""
    return _WHATIFS.get(name)


def named(name: str) -> WhatIf:
    """The what-if of this name. Raises InputError, with the nearest names, if the name is
    unknown."""
    if name not in _WHATIFS:
        near = get_close_matches(name, _WHATIFS, 2)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise InputError(
            f"unknown what-if {name[:60]!r}: {hint or '`ridgepoint whatifs` lists all'}"
        )
    return _WHATIFS[name]
