"""A batch that a what-if sets, as the batch of the scenario itself."""

from __future__ import annotations

from dataclasses import replace

from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario


def with_own_batch(scenario: Scenario) -> Scenario:
    """The same step with the batch of the last what-if as the scenario's own batch, which the
    slider shows. The scenario itself if its last what-if is not `batch`, or if the batch depends on
    an earlier one, such as another network."""
    last = scenario.whatifs[-1] if scenario.whatifs else None
    samples = last.arguments["samples"] if last and last.name == "batch" else None
    if not isinstance(samples, int):
        return scenario
    others = tuple(each for each in scenario.whatifs if each.name != "batch")
    own = replace(scenario, batch=samples, whatifs=others)
    return own if resolve(own) == resolve(scenario) else scenario
