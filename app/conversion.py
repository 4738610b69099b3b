"""Well-formed values of the command line, converted without pydantic.

Typer converts every value, even an omitted one, with pydantic, whose import and schemas take longer
than a prediction. Texts, numbers, choices and lists of texts do not need pydantic; typer converts
all other values and reports invalid ones."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from typer.core import TyperCommand

_NUMBERS: dict[Any, re.Pattern[str]] = {
    int: re.compile(r"[0-9]{1,15}"),
    float: re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?"),
}


class Command(TyperCommand):
    """A command whose well-formed values are converted here."""

    def get_params(self, ctx: Any) -> Any:
        """The parameters, including `--help`."""
        return converted_early(super().get_params(ctx))


def converted_early(parameters: Any) -> Any:
    """Parameters that convert their well-formed values here where typer would use pydantic."""
    for parameter in parameters:
        if getattr(parameter, "_runtime_param", 0) is None:
            parameter._runtime_param = _WellFormed()
    return parameters


class _WellFormed:
    """Replaces typer's conversion of one parameter."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The converted value. Raises typer's BadParameter if the value is invalid."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        kind, options = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        if options.parser is not None and not several:
            return options.parser(value)
        converted = _converted(value, kind)
        if converted is None or not _within(converted, options.min, options.max):
            param._runtime_param = None  # typer then builds its own runtime parameter
            return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
        return converted


def _converted(value: Any, kind: Any) -> Any:
    """The value converted to this kind of parameter; None if it is malformed or of another kind."""
    if kind == list[str]:
        return list(value) if all(type(text) is str for text in value) else None
    if type(value) is kind:
        return value
    if type(value) is str and kind in _NUMBERS:
        return kind(value) if _NUMBERS[kind].fullmatch(value) else None
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((choice for choice in kind if choice.value == value), None)
    return None


def _within(value: Any, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)
