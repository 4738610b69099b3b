"""Check the sizes of --size and --data-size against the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.formats.toml import shown
from simulator.networks.catalogue import CATALOGUE

if TYPE_CHECKING:
    from simulator.records import Trace
    from simulator.scenario.resolved import ResolvedScenario

_LARGEST = 2**31 - 1  # tensors with larger sizes cannot be created

DATA_SIZES = (
    "bincount",
    "index",
    "item",
    "masked_select",
    "nonzero",
    "repeat_interleave",
    "unique",
)
"""The data-dependent ops whose rows --data-size sets (simulator/tracing/sizes.py)."""


def check_sizes(resolved: ResolvedScenario) -> None:
    """Raises InputError if a size of a built-in network has another type than its default, or is
    below 1. A user's own network checks its sizes itself."""
    entry = CATALOGUE.get(resolved.request.network)
    if entry is None or not resolved.request.sizes:
        return
    # imported only if a size is given: this loads all what-ifs
    from simulator.whatif.shape import sizes

    defaults = sizes(replace(resolved, request=replace(resolved.request, sizes=())))
    for name, value in dict(resolved.request.sizes).items():
        if name in defaults:  # building the network rejects unknown names
            _check_size(entry.name, name, value, defaults[name])


def _check_size(network: str, name: str, value: Any, default: Any) -> None:
    rejected = f"size {name} of network {network!r} is {_shown(value)}"
    example = f"such as {_shown(default)}"
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(f"{rejected}: expected true or false; correct it")
        return
    if isinstance(default, str):
        if not isinstance(value, str):
            raise InputError(f"{rejected}: expected a word, {example}; correct it")
        return
    if isinstance(default, tuple):
        parts = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
        if not all(_is_whole_number(part) and part >= 1 for part in parts):
            raise InputError(
                f"{rejected}: expected whole numbers of at least 1, {example}; correct it"
            )
        return
    if isinstance(default, float):
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise InputError(f"{rejected}: expected a number of at least 0, {example}; correct it")
        return
    if _is_whole_number(value) and value > _LARGEST:
        raise InputError(f"{rejected}: expected at most {_LARGEST:,}; correct it")
    if not _is_whole_number(value) or value < 1:
        text = "" if default is None else f", {example}"
        raise InputError(f"{rejected}: expected a whole number of at least 1{text}; correct it")


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return shown(value)
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)  # pyright: ignore


_OPS = {"item": ("_local_scalar_dense",), "unique": ("_unique", "_unique2", "unique_consecutive")}
"""Ops whose name differs from the option's."""

_BOUNDED = ("nonzero", "masked_select", "unique")
"""Ops that return at most one row per element."""


def check_data_sizes(sizes: Mapping[str, int], trace: Trace) -> None:
    """Raises InputError if no op of the trace uses a size, or if none can return that number of
    rows."""
    for key, rows in sizes.items():
        op, _, figure = key.rpartition(".")
        if "::" in op:
            _check_stated(op, figure, trace)
            continue
        name, _, place = key.partition("@")
        if place and not any(place in a.taken for a in trace.assumptions):
            raise InputError(
                f"--data-size {key}={rows}: no data-dependent op runs on this line: expected a "
                "line that an error or a report names; remove it"
            )
        names = _OPS.get(name, (name,))
        taken = [a for a in trace.assumptions if _short(a.name) in names]
        if not taken:
            others = sorted({_option(a.name) for a in trace.assumptions} - {""})
            known = f"the network has {', '.join(others)}" if others else "the network has none"
            raise InputError(
                f"--data-size {name}={rows}: no op of the network uses it: expected a "
                f"data-dependent op ({known}); remove it"
            )
        if name in _BOUNDED:
            most = max(_elements(trace, a.op, name) for a in taken)
            if rows > most:
                raise InputError(
                    f"--data-size {name}={rows}: its op has at most {most:,} elements: expected at "
                    f"most {most}; set a smaller number"
                )


def _check_stated(op: str, figure: str, trace: Trace) -> None:
    names = {each.signature.name.rpartition(".")[0] for each in trace.ops}
    if op.replace("::", ".") not in names:
        others = sorted(
            n.replace(".", "::") for n in names if not n.startswith(("aten.", "prims."))
        )
        known = f"the network has {', '.join(others)}" if others else "the network has none"
        raise InputError(
            f"--op {op}={figure}:…: no op of the network has this name: expected an op of another "
            f"library ({known}); remove it"
        )


def _elements(trace: Trace, index: int, name: str) -> int:
    inputs = trace.ops[index].inputs
    return inputs[-1 if name == "masked_select" else 0].numel if inputs else 0


def _short(name: str) -> str:
    """An op's name without namespace and overload: "_unique2" for "aten._unique2.default"."""
    return name.partition(".")[2].rpartition(".")[0]


def _option(name: str) -> str:
    """The option that sets the rows of an op: "unique" for "aten._unique2.default"."""
    short = _short(name)
    for option, names in _OPS.items():
        if short in names:
            return option

    return short if short in DATA_SIZES else ""
