"""The networks that a user's file offers: functions and module classes that make one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from simulator.errors import InputError
from simulator.networks.user_file import imported, own_callables


class Factory(NamedTuple):
    """What `FILE.py:NAME` may name. `required` are arguments without a default: a factory that has
    some is named with sizes."""

    name: str
    signature: str
    required: tuple[str, ...] = ()


def factories(path: Path) -> tuple[Factory, ...]:
    """The factories of a file in its order; runs the file. A function that says that it returns
    None is none, nor is a class that is no module. InputError where the file cannot be run, or has
    no factory."""
    from torch import nn

    own = own_callables(imported(path))
    found = tuple(
        _factory(name, value)
        for name, value in own.items()
        if (issubclass(value, nn.Module) if isinstance(value, type) else _may_return(value))
    )
    if not found:
        raise InputError(
            f"{path.name} has no network: expected a function or a class that makes an nn.Module; "
            f"those there: {', '.join(own) or 'none'}"
        )
    return found


def _may_return(function: Callable[..., Any]) -> bool:
    said = getattr(function, "__annotations__", {}).get("return", "")
    return said not in (None, "None")


def _factory(name: str, value: Callable[..., Any]) -> Factory:
    signature = inspect.signature(value)
    parameters = signature.parameters.values()
    required = tuple(
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    )
    return Factory(name, str(signature.replace(return_annotation=signature.empty)), required)
