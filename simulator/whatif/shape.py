"""What if the inputs, or the network itself, had another size? The network is traced again."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE, constructor_sizes
from simulator.scenario.apply import whatif
from simulator.scenario.parameters import Range, Unit
from simulator.scenario.resolve import check_network
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Value

_LARGEST = 2**31 - 1


@whatif("shape")
def batch(
    setting: ResolvedScenario,
    samples: Annotated[int, Range(1, _LARGEST, log=True), Unit("samples")],
) -> ResolvedScenario:
    """Samples a step (with accumulation: a forward)."""
    if samples == setting.ask.batch:
        return setting
    return setting.traced_otherwise("batch", batch=samples)


@whatif("shape")
def seq(
    setting: ResolvedScenario, tokens: Annotated[int, Range(1, _LARGEST, log=True), Unit("tokens")]
) -> ResolvedScenario:
    """Tokens a sample."""
    entry = CATALOGUE.get(setting.ask.network)
    if entry is not None and entry.seq is None:
        raise InputError(f"seq: network {entry.name!r} has no sequence: leave seq out")
    table = _positions(setting)
    if table is not None and tokens > table:
        raise InputError(
            f"seq: network {setting.ask.network!r} has {table} positions: expected seq {table} at "
            f"most, got {tokens}; or give the size positions={tokens} first"
        )
    if tokens == setting.ask.seq:
        return setting
    return setting.traced_otherwise("seq", seq=tokens)


def _positions(setting: ResolvedScenario) -> int | None:
    """Rows of the position table of a network of the catalogue, where it has one."""
    default = sizes(setting).get("positions")
    return default if isinstance(default, int) else None


def sizes(setting: ResolvedScenario) -> dict[str, Any]:
    """The network's own parameters and what they are; {} for networks that name none."""
    entry = CATALOGUE.get(setting.ask.network)
    if entry is None:
        return dict(setting.ask.sizes)
    return dict(constructor_sizes(entry.name)) | dict(entry.sizes) | dict(setting.ask.sizes)


@whatif("shape")
def size(setting: ResolvedScenario, parameter: str, value: Value) -> ResolvedScenario:
    """One of the network's own parameters, such as its depth, width, heads or experts."""
    known = sizes(setting)
    if setting.ask.network in CATALOGUE:
        if parameter not in known:
            raise InputError(
                f"size: network {setting.ask.network!r} has no size {parameter!r}: expected one of "
                f"{', '.join(known)}"
            )
        was = known[parameter]
        numeric = isinstance(was, int) and not isinstance(was, bool)
        if numeric and isinstance(value, int | float) and value < 1:
            raise InputError(f"size: {parameter} is {value}: expected 1 or more; choose a larger")
        if isinstance(was, tuple) and isinstance(value, int):
            value = (value,)
        if was == value:
            return setting
    return setting.traced_otherwise("size", sizes=_with(setting.ask.sizes, parameter, value))


def _with(
    held: tuple[tuple[str, Any], ...], name: str, value: Value
) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((dict(held) | {name: value}).items()))


@whatif("shape")
def network(setting: ResolvedScenario, to: str) -> ResolvedScenario:
    """Another network in its place, with sizes, batch and sequence of its own."""
    check_network(to)
    if to == setting.ask.network:
        return setting
    if setting.edits:
        raise InputError(
            "network: what-ifs on the ops of the old one are applied: expected none; apply "
            "network first"
        )
    return replace(
        setting,
        ask=replace(setting.ask, network=to, saved=False, sizes=(), batch=None, seq=None),
    )
