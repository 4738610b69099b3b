"""The parameters of a what-if, read from its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

from simulator.errors import InputError
from simulator.formats.toml import shown
from simulator.scenario.scenario import Value


@dataclass(frozen=True)
class Range:
    """The inclusive bounds of a number. With `log`, a control steps by factors. If `by_whatif`, the
    bounds are the ends of a control alone, and the what-if checks the number."""

    low: float
    high: float
    log: bool = False
    by_whatif: bool = False


@dataclass(frozen=True)
class Unit:
    """The unit of a number, for a label."""

    text: str


@dataclass(frozen=True)
class Pattern:
    """Marks a text parameter as a pattern of module or parameter paths."""


Modules = Annotated[str, Pattern()]


@dataclass(frozen=True)
class Names:
    """Choices that are looked up on demand, such as the GPUs of the catalogue."""

    lookup: Callable[[], tuple[str, ...]]


Kind = Literal["number", "count", "flag", "choice", "text", "value"]
_KINDS: dict[Any, Kind] = {float: "number", int: "count", bool: "flag", str: "text"}


@dataclass(frozen=True)
class Parameter:
    """One argument of a what-if. `default` is None if the argument is required; `low` and `high`
    are None if the number has no bounds; the what-if checks the number if `by_whatif`; `pattern` is
    true if the text is a pattern of module or parameter paths."""

    name: str
    kind: Kind
    default: Value | None
    low: float | None = None
    high: float | None = None
    log: bool = False
    unit: str = ""
    names: Names | None = None
    fixed: tuple[str, ...] = ()
    pattern: bool = False
    by_whatif: bool = False

    @property
    def choices(self) -> tuple[str, ...]:
        return self.names.lookup() if self.names else self.fixed

    def check(self, whatif: str, value: object) -> Value:
        """The value in this parameter's type. Raises InputError if it has another type or is out of
        bounds."""
        subject = f"{whatif}: {self.name} is {shown(value)}"
        if self.kind in ("number", "count"):
            return self._number(subject, value)
        if self.kind == "flag":
            if not isinstance(value, bool):
                raise InputError(f"{subject}: expected true or false")
            return value
        if self.kind == "value":
            if not isinstance(value, bool | int | float | str | tuple | list):
                raise InputError(f"{subject}: expected a number, text, true, false, or a tuple")
            if isinstance(value, list | tuple):
                return tuple(cast("Iterable[Any]", value))
            return value
        if not isinstance(value, str) or not value:
            raise InputError(f"{subject}: expected text")
        if self.kind == "choice" and value not in self.choices:
            near = get_close_matches(value, self.choices, 2)
            known = self.choices if len(self.choices) <= 12 else self.choices[:12]
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise InputError(f"{subject}: {hint or 'expected one of ' + ', '.join(known)}")
        return value

    def _number(self, subject: str, value: object) -> float:
        whole = self.kind == "count"
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits or (whole and not float(value).is_integer()):  # pyright: ignore
            raise InputError(f"{subject}: expected a {'whole ' if whole else ''}number")
        number = int(value) if whole else float(value)  # pyright: ignore
        low, high = (None, None) if self.by_whatif else (self.low, self.high)
        outside = (low is not None and number < low) or (high is not None and number > high)
        if not isfinite(number) or outside:
            raise InputError(f"{subject}: expected {_bounds(low, high)}; correct it")
        return number


def _bounds(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "a finite number"
    return f"{low:,.10g} to {high:,.10g}"


def parameters(body: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters of a function after its first one.

    Their types are annotations such as `Annotated[float, Range(0.1, 10)]`.
    """
    hints = get_type_hints(body, include_extras=True)
    return tuple(
        _parameter(p.name, hints[p.name], None if p.default is p.empty else p.default)
        for p in list(inspect.signature(body).parameters.values())[1:]
    )


def _parameter(name: str, hint: Any, default: Value | None) -> Parameter:
    extras: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *more = get_args(hint)
        extras = tuple(more)
    bounds = next((e for e in extras if isinstance(e, Range)), None)
    names = next((e for e in extras if isinstance(e, Names)), None)
    unit = next((e.text for e in extras if isinstance(e, Unit)), "")
    fixed: tuple[str, ...] = ()
    if get_origin(hint) is Literal:
        kind: Kind = "choice"
        fixed = get_args(hint)
    else:
        kind = "choice" if names else _KINDS.get(hint, "value")
    return Parameter(
        name=name,
        kind=kind,
        default=default,
        low=bounds and bounds.low,
        high=bounds and bounds.high,
        log=bool(bounds and bounds.log),
        unit=unit,
        names=names,
        fixed=fixed,
        pattern=any(isinstance(e, Pattern) for e in extras),
        by_whatif=bool(bounds and bounds.by_whatif),
    )


def word(value: object) -> str:
    """A value as a command writes it: 2, 0.5, true, 3:4."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ":".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
