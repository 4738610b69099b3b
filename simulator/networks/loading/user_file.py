"""Networks from a user's file: `nets.py:make`. torch is imported only when a file is run."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from simulator.errors import InputError
from simulator.formats.limited import absence
from simulator.networks.loading.loaded import (
    DEFAULT_BATCH,
    DEFAULT_SEQ,
    Facts,
    Loaded,
    Wanted,
    blaming,
)

if TYPE_CHECKING:
    from torch import nn


def from_file(wanted: Wanted) -> Loaded:
    place, _, name = wanted.spec.rpartition(":") if ".py:" in wanted.spec else (wanted.spec, "", "")
    path = Path(place)
    if not path.is_file():
        why = absence(path)
        problem = f"{why} {place!r}" if why == "no such file" else f"{place!r}: {why}"
        raise InputError(f"{problem}: expected FILE.py:FACTORY; check the path")
    code = imported(path)
    label = f"{path.name}:{name}"
    factory = _factory(code, path, name)
    _check_sizes(label, factory, wanted.sizes)
    correct = "correct the file"
    with blaming(label, correct, path):
        result = factory(**wanted.sizes)
    module, args, kwargs = _parts(label, result)
    if args is not None:
        if wanted.batch or wanted.seq:
            raise InputError(
                f"{label} returns its own inputs: leave batch and seq out, or let a function "
                "example_inputs(module, batch, seq) of the file make them"
            )
        return Loaded(module, args, kwargs, Facts(label))
    make: Any = getattr(module, "example_inputs", None)
    function: Any = getattr(code, "example_inputs", None)
    if make is None and function is None:
        raise InputError(
            f"{label} has no inputs: give the module a method example_inputs(batch, seq, "
            "training=False), or the file a function example_inputs(module, batch, seq), or "
            "return (module, args)"
        )
    accepted = inspect.signature(make or function).parameters
    if make is None and next(iter(accepted), "") in ("batch", "seq", "training"):
        raise InputError(
            f"example_inputs of {path.name} takes no module: expected "
            "example_inputs(module, batch, seq); add module, or make the function a method of the "
            "network"
        )
    batch = wanted.batch or _own(accepted, "batch") or DEFAULT_BATCH
    seq = wanted.seq or _own(accepted, "seq") or DEFAULT_SEQ
    arguments: dict[str, Any] = dict(batch=batch, seq=seq, training=wanted.training)
    if all(p.kind is not p.VAR_KEYWORD for p in accepted.values()):
        arguments = {key: value for key, value in arguments.items() if key in accepted}
    for key, value in (("batch", wanted.batch), ("seq", wanted.seq)):
        if value is not None and key not in arguments:
            raise InputError(f"example_inputs of {label} takes no {key}: leave {key} out")
    with blaming(f"example_inputs of {label}", correct, path):
        inputs = make(**arguments) if make else function(module, **arguments)
    args, kwargs = ((), dict(inputs)) if isinstance(inputs, Mapping) else (_tuple(inputs), {})
    return Loaded(module, args, kwargs, Facts(label, arguments.get("batch"), arguments.get("seq")))


def _own(accepted: Mapping[str, inspect.Parameter], name: str) -> int | None:
    """The default value of an `example_inputs` argument; None if it is not a positive integer."""
    default = accepted[name].default if name in accepted else None
    return default if type(default) is int and default > 0 else None


def imported(path: Path) -> ModuleType:
    """Import a user's file as a module. Like a script, it can import files in its folder."""
    name = f"user_{path.stem}"
    spec = spec_from_file_location(name, path, loader=_Source(name, str(path)))
    assert spec is not None and spec.loader is not None
    _forget(sys.modules.pop(spec.name, None))
    code = module_from_spec(spec)
    sys.modules[spec.name] = code  # dataclasses look up their module
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        with blaming(path.name, "correct the file", path):
            spec.loader.exec_module(code)
    finally:
        sys.path.remove(folder)
    return code


class _Source(SourceFileLoader):
    """Compiles the source each time. Bytecode on disk is checked by the source's size and its time
    in whole seconds, so a quick edit would be missed."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        raise OSError(f"{path}: its bytecode is neither read nor written")


def _forget(code: ModuleType | None) -> None:
    """Remove ops that an earlier import of the file defined: torch rejects a second definition."""
    if code is None or "torch" not in sys.modules:
        return
    from torch.library import Library  # only once the file has imported torch

    for value in vars(code).values():
        if isinstance(value, Library):
            value._destroy()


def own_callables(code: ModuleType) -> dict[str, Callable[..., Any]]:
    """Public functions and classes that a file defines, by name, except `example_inputs`."""
    return {
        key: value
        for key, value in vars(code).items()
        if callable(value)
        and getattr(value, "__module__", "") == code.__name__
        and key != "example_inputs"
        and not key.startswith("_")
    }


def _factory(code: ModuleType, path: Path, name: str) -> Callable[..., Any]:
    factory = getattr(code, name, None) if name else None
    if callable(factory):
        return factory
    own = own_callables(code)
    problem = f"{path.name} has no {name!r}" if name else f"{path.name} names no network"
    if factory is not None:
        problem = f"{path.name}:{name} is of type {type(factory).__name__}"
    raise InputError(
        f"{problem}: expected FILE.py:FACTORY, a function or class that makes an nn.Module; "
        f"the file defines: {', '.join(own) or 'none'}"
    )


def _check_sizes(label: str, factory: Callable[..., Any], sizes: Mapping[str, Any]) -> None:
    """Raise InputError unless the sizes match the arguments of the factory."""
    try:
        signature = inspect.signature(factory)
    except ValueError:  # written in C
        return
    names = [p.name for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    takes_any = len(names) < len(signature.parameters)
    unknown = [name for name in sizes if name not in names and not takes_any]
    if unknown:
        raise InputError(
            f"{label}{signature} has no argument {unknown[0]!r}: "
            f"expected {', '.join(names) or 'no argument'}; correct the name"
        )
    try:
        signature.bind(**sizes)
    except TypeError as error:
        raise InputError(
            f"{label}{signature} cannot be called: {error}; expected a factory without required "
            "arguments, or a size for each"
        ) from None


def _parts(label: str, result: Any) -> tuple[nn.Module, tuple[Any, ...] | None, dict[str, Any]]:
    """Split the result of a factory: the module, and its inputs if the factory returns them."""
    from torch import nn  # only when a network is loaded: it takes seconds

    parts: Any = result if isinstance(result, tuple) else (result,)
    module, args, kwargs = (*parts, None, None)[:3]
    fits = len(parts) <= 3 and isinstance(kwargs, Mapping | None)
    if not (isinstance(module, nn.Module) and fits):
        raise InputError(
            f"{label} returned {_kind(result)}: expected an nn.Module, (module, args) or "
            "(module, args, kwargs)"
        )
    return module, None if len(parts) == 1 else _tuple(args), dict(kwargs or {})


def _kind(result: Any) -> str:
    if isinstance(result, tuple):
        return f"({', '.join(type(part).__name__ for part in result)})"
    return "None" if result is None else f"a value of type {type(result).__name__}"


def _tuple(args: Any) -> tuple[Any, ...]:
    return tuple(args) if isinstance(args, tuple | list) else (args,)
