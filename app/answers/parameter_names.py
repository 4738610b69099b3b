"""The existing names that a parameter of a what-if can take, such as the ops of the network."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.errors import InputError
from simulator.hardware.gpu import gpus
from simulator.networks.catalogue import CATALOGUE
from simulator.prediction import Prediction
from simulator.records import Trace
from simulator.scenario.parameters import Parameter
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.whatif.shape import sizes

_OF_OPS = {"remove": "op", "fuse": "ops"}
"""The parameters that name ops, by what-if."""


def names_of(
    whatif: str, parameter: Parameter, scenario: Scenario, p: Prediction | None
) -> tuple[str, ...]:
    """The names that exist in a scenario, whose prediction is `p` if it is known. Empty if any
    text is allowed, or if nothing is known."""
    if parameter.kind != "text":
        return ()
    if parameter.pattern:
        return () if p is None else modules_of(p.trace)
    if _OF_OPS.get(whatif) == parameter.name:
        return () if p is None else _ops(p.trace)
    if (whatif, parameter.name) == ("utilisation", "family"):
        return () if p is None else _unique(work.family for work in p.works)
    if (whatif, parameter.name) == ("size", "parameter"):
        return _sizes(scenario)
    if (whatif, parameter.name) == ("network", "to"):
        return tuple(CATALOGUE)
    if (whatif, parameter.name) == ("gpu", "to"):
        return tuple(gpu.id for gpu in gpus())
    return ()


def modules_of(trace: Trace) -> tuple[str, ...]:
    """The patterns of all modules, in the order of the step; layers.#.up is the `up` of every
    layer.
    """
    paths: dict[str, None] = {"**": None}
    for op in trace.ops:
        parts = ["#" if part.isdecimal() else part for part in op.module.split(".")]
        paths |= dict.fromkeys(".".join(parts[: at + 1]) for at in range(len(parts)))
    return tuple(path for path in paths if path)


def _ops(trace: Trace) -> tuple[str, ...]:
    return _unique(op.name.removeprefix("aten.").partition(".")[0] for op in trace.ops)


def _sizes(scenario: Scenario) -> tuple[str, ...]:
    try:
        return tuple(sizes(resolve(scenario)))
    except InputError:
        return ()


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
