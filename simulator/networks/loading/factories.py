"""Factories in a user's file: functions and classes that make a network.

torch is imported only when a file is run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from simulator.errors import InputError
from simulator.networks.loading.user_file import imported, own_callables


class Factory(NamedTuple):
    """A factory that `FILE.py:NAME` can name. `required` are its arguments without a default, for
    which sizes must be given. `without_inputs` is true for a module class if neither the class
    nor the file has `example_inputs`."""

    name: str
    signature: str
    required: tuple[str, ...] = ()
    without_inputs: bool = False


def factories(path: Path) -> tuple[Factory, ...]:
    """The factories of a file in file order; runs the file. Functions annotated to return None and
    classes that are not modules are skipped.

    Raises InputError if the file cannot be run or has no factory.
    """
    from torch import nn  # it takes seconds, and the explorer imports this module

    code = imported(path)
    own, makes_inputs = own_callables(code), hasattr(code, "example_inputs")
    offered = tuple(
        _factory(name, value, makes_inputs)
        for name, value in own.items()
        if (issubclass(value, nn.Module) if isinstance(value, type) else _may_return(value))
    )
    if not offered:
        raise InputError(
            f"{path.name} has no network: expected a function or a class that makes an nn.Module; "
            f"the file defines: {', '.join(own) or 'none'}"
        )
    return offered


def _may_return(function: Callable[..., Any]) -> bool:
    annotation = getattr(function, "__annotations__", {}).get("return", "")
    return annotation not in (None, "None")


def _factory(name: str, value: Callable[..., Any], makes_inputs: bool) -> Factory:
    signature = inspect.signature(value)
    parameters = signature.parameters.values()
    required = tuple(
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    )
    is_class = isinstance(value, type)
    without_inputs = is_class and not (makes_inputs or hasattr(value, "example_inputs"))
    written = str(signature.replace(return_annotation=signature.empty))
    return Factory(name, written, required, without_inputs)
