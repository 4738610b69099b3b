"""Apply what-ifs to scenarios, and the decorator that makes a function a what-if.

    @whatif(
        "hardware",
        Trial("+bandwidth=2", ("memory",), "DRAM twice as fast", "machine"),
        sentence="Use memory with {times} the bandwidth",
    )
    def bandwidth(
        resolved: ResolvedScenario, times: Annotated[float, Range(0.1, 10, log=True)] = 2.0
    ) -> ResolvedScenario:
        '''DRAM bandwidth, this many times the data sheet's.'''
        return replace(resolved, gpu=...)

    bandwidth(scenario, times=2)                   # a new scenario
    apply(scenario, "bandwidth", {"times": 2})     # the same by name
    apply(scenario, *parse("+bandwidth=2"))        # the same as a command writes it

The body changes a resolved scenario. The decorated function takes a scenario: it checks the
arguments, runs the body, and adds the what-if to the scenario.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec

from simulator.scenario.registry import Group, named, register
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Applied, Scenario
from simulator.scenario.trial import Sentence, Trial

P = ParamSpec("P")


def whatif(
    group: Group, *trials: Trial, sentence: Sentence = "", untried: str = ""
) -> Callable[
    [Callable[Concatenate[ResolvedScenario, P], ResolvedScenario]],
    Callable[Concatenate[Scenario, P], Scenario],
]:
    """Register a what-if under its function's name, with the trials and the sentence of advice, or
    the reason why advice does not try it. Raises ValueError if the name is taken."""

    def decorate(
        body: Callable[Concatenate[ResolvedScenario, P], ResolvedScenario],
    ) -> Callable[Concatenate[Scenario, P], Scenario]:
        name = register(group, body, trials, sentence, untried).name
        signature = inspect.signature(body)

        @wraps(body)
        def on_scenario(scenario: Scenario, /, *args: P.args, **kwargs: P.kwargs) -> Scenario:
            bound = signature.bind(scenario, *args, **kwargs).arguments
            return apply(scenario, name, dict(list(bound.items())[1:]))

        return on_scenario

    return decorate


def apply(scenario: Scenario, name: str, arguments: Mapping[str, object] | None = None) -> Scenario:
    """Apply a what-if to a scenario; return the scenario itself if the what-if changes nothing.

    Raises InputError, with the reason, if the what-if cannot be applied.
    """
    resolved = resolve(scenario)
    applied = checked(name, arguments)
    if changed_by(applied, resolved) == resolved:
        return scenario
    return replace(scenario, whatifs=(*scenario.whatifs, applied))


def checked(name: str, arguments: Mapping[str, object] | None = None) -> Applied:
    """A what-if with all its arguments. Raises InputError if the name is unknown or an argument is
    wrong."""
    return Applied(name, named(name).checked(arguments or {}))


def changed_by(applied: Applied, resolved: ResolvedScenario) -> ResolvedScenario:
    """A resolved scenario after a what-if. Raises InputError, with the reason, if it cannot be
    applied."""
    return named(applied.name).body(resolved, **applied.arguments).possible()
