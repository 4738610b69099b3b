"""Trace without `torch._dynamo`, whose import takes longer than most traces.

torch imports Dynamo at the first call of a function under `torch._disable_dynamo`, and in each
step of an optimizer. In eager mode neither needs it: the first calls the function, the second calls
`graph_break()`, which does nothing. A repeated step does not run the import. An error that is
caught during the import keeps the step's frames, and so its tensors, alive. If a step imports
Dynamo nevertheless, it is therefore traced again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from simulator.errors import InputError

T = TypeVar("T")

_NAME = "torch._dynamo"
_DIRECT = "__dynamo_disable"
"""The attribute in which `torch._disable_dynamo` caches the function that it calls instead."""
_HOLDERS = (
    "torch._refs", "torch._decomp", "torch._prims", "torch._prims_common",
    "torch._meta_registrations", "torch.optim.optimizer",
)  # fmt: skip
"""Modules, submodules included, whose functions run on tensors without data or in a step."""


def is_imported() -> bool:
    """Whether the process has imported Dynamo."""
    return _NAME in sys.modules and not isinstance(sys.modules[_NAME], _StandIn)


def traced(run: Callable[[], T]) -> T:
    """The result of `run`, which traces a step, from a run that does not import Dynamo."""
    if is_imported():
        return run()
    import_module("torch.fx.experimental.symbolic_shapes")  # imported by meta kernels
    with called_directly():
        try:
            result = run()
        except InputError:
            if not is_imported():
                raise
        else:
            if not is_imported():
                return result
    return run()


@contextmanager
def not_imported() -> Generator[bool]:
    """Run programs of one rank without importing Dynamo. Yields False, and does nothing, if it is
    imported."""
    if is_imported():
        yield False
        return
    import_module("torch.fx.experimental.symbolic_shapes")  # imported by meta kernels
    with called_directly(), graph_breaks_ignored():
        yield True


@contextmanager
def not_compiling() -> Generator[None]:
    """Call the results of `torch.compile` without compiling: a repeated step does not compile
    again. Does nothing if Dynamo is not imported."""
    if not is_imported():
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


@contextmanager
def called_directly() -> Generator[None]:
    """Call the functions under `torch._disable_dynamo` without Dynamo, until it is imported."""
    functions = () if is_imported() else _disabled_functions()
    changed = [function for function in functions if not hasattr(function, _DIRECT)]
    for function in changed:
        setattr(function, _DIRECT, function)
    try:
        yield
    finally:
        for function in changed:
            if getattr(function, _DIRECT, None) is function:
                delattr(function, _DIRECT)


@cache
def _disabled_functions() -> tuple[Any, ...]:
    wrapper = torch._disable_dynamo(lambda: None).__code__  # pyright: ignore
    owners: list[Any] = [torch.optim.Optimizer, *_subclasses(TorchDispatchMode)]
    for name, module in [*sys.modules.items()]:
        if name in _HOLDERS or name.startswith(tuple(f"{holder}." for holder in _HOLDERS)):
            owners.append(module)
    inside = [value for owner in owners for value in vars(owner).values()]
    visited: set[int] = set()
    functions: list[Any] = []
    while inside:
        function = inside.pop()
        if not isinstance(function, FunctionType) or id(function) in visited:
            continue
        visited.add(id(function))
        variables = _enclosed(function)
        if function.__code__ is wrapper:
            functions.append(variables["fn"])
        inside += variables.values()
    return tuple(functions)


def _subclasses(parent: type) -> list[type]:
    children = parent.__subclasses__()
    return children + [child for parent in children for child in _subclasses(parent)]


def _enclosed(function: FunctionType) -> dict[str, Any]:
    """The variables of a function's closure, by name."""
    if function.__closure__ is None:
        return {}
    cells = zip(function.__code__.co_freevars, function.__closure__, strict=True)
    return {name: getattr(cell, "cell_contents", None) for name, cell in cells}


class _StandIn(ModuleType):
    """Stands in for Dynamo in the step of an optimizer, which calls only `graph_break()`, and in
    the creation of process groups, which clears a cache. Any other attribute is read from the real
    module, which is then imported."""

    trace_rules = SimpleNamespace(clear_lru_cache=lambda: None)

    @staticmethod
    def graph_break() -> None:
        """Do nothing, as outside of a compiled function."""

    def __getattr__(self, name: str) -> Any:
        _remove(self)
        return getattr(import_module(_NAME), name)


@contextmanager
def graph_breaks_ignored() -> Generator[None]:
    """Run steps of an optimizer without importing Dynamo."""
    if is_imported():
        yield
        return
    stand_in = _StandIn(_NAME)
    sys.modules[_NAME] = stand_in
    torch.__dict__["_dynamo"] = stand_in
    try:
        yield
    finally:
        _remove(stand_in)


def _remove(stand_in: _StandIn) -> None:
    if sys.modules.get(_NAME) is stand_in:
        del sys.modules[_NAME]
    if torch.__dict__.get("_dynamo") is stand_in:
        del torch.__dict__["_dynamo"]
