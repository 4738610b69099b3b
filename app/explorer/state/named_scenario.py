"""A scenario of a session, with its name and its measurement."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.scenario.scenario import Scenario


@dataclass(frozen=True)
class NamedScenario:
    """A scenario with its name. `measured` is the path of a profiler trace, or "", and
    `measured_as` the scenario on which it was overlaid: a later change of the scenario does not
    change what was measured."""

    name: str
    scenario: Scenario
    measured: str = ""
    measured_as: Scenario | None = None
