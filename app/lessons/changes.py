"""Scenarios of a lesson's file: a scenario with what-ifs as on the command line."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.scenario.apply import apply
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.text.whatif import parse


def with_whatifs(scenario: Scenario, texts: Iterable[str]) -> Scenario:
    """A scenario with what-ifs such as "+cuda_graph". Raises InputError if the scenario or a
    what-if is invalid, so that it fails when the file is read, not in class."""
    resolve(scenario)
    for text in texts:
        scenario = apply(scenario, *parse(text))
    return scenario
