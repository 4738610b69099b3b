"""What-ifs of the inputs and of the network's size, which trace the network again."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE, constructor_sizes
from simulator.scenario.apply import whatif
from simulator.scenario.parameters import Range, Unit
from simulator.scenario.resolve import check_network
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Value

_LARGEST = 2**31 - 1


@whatif(
    "shape",
    sentence="Use a batch of {samples}",
    untried="tried at two and four times its value",
)
def batch(
    resolved: ResolvedScenario,
    samples: Annotated[int, Range(1, _LARGEST, log=True), Unit("samples")],
) -> ResolvedScenario:
    """Samples per step (per forward pass, with gradient accumulation)."""
    if samples == resolved.request.batch:
        return resolved
    return resolved.traced_otherwise("batch", batch=samples)


@whatif("shape", untried="a different question")
def seq(
    resolved: ResolvedScenario, tokens: Annotated[int, Range(1, _LARGEST, log=True), Unit("tokens")]
) -> ResolvedScenario:
    """Tokens per sample."""
    entry = CATALOGUE.get(resolved.request.network)
    if entry is not None and entry.seq is None:
        raise InputError(f"seq: network {entry.name!r} has no sequence: leave seq out")
    table = _positions(resolved)
    if table is not None and tokens > table:
        raise InputError(
            f"seq: network {resolved.request.network!r} has {table} positions: expected seq "
            f"{table} at most, got {tokens}; or give the size positions={tokens} first"
        )
    if tokens == resolved.request.seq:
        return resolved
    return resolved.traced_otherwise("seq", seq=tokens)


def _positions(resolved: ResolvedScenario) -> int | None:
    """Rows of the position table of a network of the catalogue, or None."""
    default = sizes(resolved).get("positions")
    return default if isinstance(default, int) else None


def sizes(resolved: ResolvedScenario) -> dict[str, Any]:
    """The network's own parameters and their values; {} if it has no parameters."""
    entry = CATALOGUE.get(resolved.request.network)
    if entry is None:
        return dict(resolved.request.sizes)
    return dict(constructor_sizes(entry.name)) | dict(entry.sizes) | dict(resolved.request.sizes)


@whatif("shape", untried="another network")
def size(resolved: ResolvedScenario, parameter: str, value: Value) -> ResolvedScenario:
    """One of the network's own parameters, such as its depth, width, heads or experts."""
    current = sizes(resolved)
    if resolved.request.network in CATALOGUE:
        if parameter not in current:
            raise InputError(
                f"size: network {resolved.request.network!r} has no size {parameter!r}: expected "
                f"one of {', '.join(current)}"
            )
        old = current[parameter]
        numeric = isinstance(old, int) and not isinstance(old, bool)
        if numeric and isinstance(value, int | float) and value < 1:
            raise InputError(
                f"size: {parameter} is {value}: expected 1 or more; choose a larger one"
            )
        if isinstance(old, tuple) and isinstance(value, int):
            value = (value,)
        if old == value:
            return resolved
    return resolved.traced_otherwise("size", sizes=_with(resolved.request.sizes, parameter, value))


def _with(
    pairs: tuple[tuple[str, Any], ...], name: str, value: Value
) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((dict(pairs) | {name: value}).items()))


@whatif("shape", untried="another network")
def network(resolved: ResolvedScenario, to: str) -> ResolvedScenario:
    """Another network, with its own sizes, batch and sequence."""
    check_network(to)
    if to == resolved.request.network:
        return resolved
    if resolved.edits:
        raise InputError(
            "network: follows what-ifs that change the ops of the old network: expected none "
            "before it; apply network first"
        )
    return replace(
        resolved,
        request=replace(resolved.request, network=to, saved=False, sizes=(), batch=None, seq=None),
    )
