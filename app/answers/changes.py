"""Change one value of a scenario, as controls, cards and files do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

_OVER = {"dtype": ("precision",), "mode": ("mode", "cuda_graph"), "training": ("training",)}
"""What-ifs that set a field under another name."""


def with_field(scenario: Scenario, name: str, value: Any) -> Scenario:
    """Set a field, and remove the what-ifs that set or contradict it."""
    changed = _with(scenario, name, value, _OVER.get(name, (name,)))
    if name == "mode" and _mode_of(changed) not in (None, value):
        changed = _with(changed, name, value, ("fusion",))
    return changed


def as_fields(scenario: Scenario) -> Scenario:
    """Set fields in place of what-ifs that only set one, such as +batch=64: a step on several GPUs
    accepts fields, but no single-GPU what-ifs.
    """
    for applied in scenario.whatifs:
        if applied.name in ("batch", "seq", "mode"):
            scenario = with_field(scenario, applied.name, next(iter(applied.arguments.values())))
        elif applied.name == "cuda_graph" and scenario.mode == "eager":
            scenario = with_field(scenario, "mode", "cuda_graph")
    return scenario


def _mode_of(scenario: Scenario) -> str | None:
    """The mode of a scenario; None if the scenario is invalid."""
    try:
        return resolve(scenario).mode
    except InputError:
        return None


def _with(scenario: Scenario, name: str, value: Any, without: tuple[str, ...]) -> Scenario:
    others = tuple(each for each in scenario.whatifs if each.name not in without)
    fields: dict[str, Any] = {name: value, "whatifs": others}
    if name == "training" and not value:
        fields["optimizer"] = None
    return replace(scenario, **fields)


def gpu_of(scenario: Scenario) -> str | Mapping[str, Any]:
    """The GPU of a scenario before its figures are scaled: a name, a file, or keys."""
    names = [each.arguments["to"] for each in scenario.whatifs if each.name == "gpu"]
    return str(names[-1]) if names else scenario.gpu


def with_network(scenario: Scenario, name: str) -> Scenario:
    """Set another network, at its default batch and sequence."""
    entry = CATALOGUE.get(name)
    trains = entry is None or entry.trains
    return replace(
        scenario,
        network=name,
        batch=None,
        seq=None,
        sizes={},
        data_sizes={},
        training=scenario.training if trains else None,
        optimizer=scenario.optimizer if trains else None,
        whatifs=tuple(w for w in scenario.whatifs if w.name not in ("network", "size")),
    )


def with_trace(scenario: Scenario, path: str) -> Scenario:
    """Replace the network with a saved trace, and remove the options that the trace fixes."""
    return Scenario(path, gpu=scenario.gpu, host=scenario.host, host_speed=scenario.host_speed)


def without(scenario: Scenario, place: int) -> Scenario:
    """Remove the what-if at an index."""
    others = scenario.whatifs[:place] + scenario.whatifs[place + 1 :]
    return replace(scenario, whatifs=others)


def with_arguments(scenario: Scenario, place: int, arguments: Mapping[str, Any]) -> Scenario:
    """Change the arguments of the what-if at an index, and apply the later ones again.

    Raises InputError if one of them does not apply.
    """
    changed = replace(scenario, whatifs=scenario.whatifs[:place])
    changed = apply(changed, scenario.whatifs[place].name, arguments)
    for each in scenario.whatifs[place + 1 :]:
        changed = apply(changed, each.name, each.arguments)
    return changed
