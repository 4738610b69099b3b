"""Scenarios with another value: what a control, a card or a file makes of one."""

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
"""What-ifs that say the same as a field, where they are not called like it."""


def with_field(scenario: Scenario, name: str, value: Any) -> Scenario:
    """A field's new value; what-ifs that said the same, or would not let it be, are gone."""
    changed = _with(scenario, name, value, _OVER.get(name, (name,)))
    if name == "mode" and _mode_of(changed) not in (None, value):
        changed = _with(changed, name, value, ("fusion",))
    return changed


def _mode_of(scenario: Scenario) -> str | None:
    """How a scenario is run; None where it comes to nothing."""
    try:
        return resolve(scenario).mode
    except InputError:
        return None


def _with(scenario: Scenario, name: str, value: Any, without: tuple[str, ...]) -> Scenario:
    kept = tuple(each for each in scenario.whatifs if each.name not in without)
    fields: dict[str, Any] = {name: value, "whatifs": kept}
    if name == "training" and not value:
        fields["optimizer"] = None
    return replace(scenario, **fields)


def gpu_of(scenario: Scenario) -> str | Mapping[str, Any]:
    """The GPU as a scenario has it, before its figures are scaled: a name, a file, or keys."""
    given = [each.arguments["to"] for each in scenario.whatifs if each.name == "gpu"]
    return str(given[-1]) if given else scenario.gpu


def with_network(scenario: Scenario, name: str) -> Scenario:
    """Another network, at the batch and sequence that it takes of itself."""
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
    """A saved trace in place of the network: what it fixes is not asked for."""
    return Scenario(path, gpu=scenario.gpu, host=scenario.host, host_speed=scenario.host_speed)


def without(scenario: Scenario, place: int) -> Scenario:
    """One what-if less."""
    kept = scenario.whatifs[:place] + scenario.whatifs[place + 1 :]
    return replace(scenario, whatifs=kept)


def with_arguments(scenario: Scenario, place: int, arguments: Mapping[str, Any]) -> Scenario:
    """One what-if with other arguments, the others applied again around it. InputError, with the
    reason, where one of them cannot be."""
    changed = replace(scenario, whatifs=scenario.whatifs[:place])
    changed = apply(changed, scenario.whatifs[place].name, arguments)
    for each in scenario.whatifs[place + 1 :]:
        changed = apply(changed, each.name, each.arguments)
    return changed
