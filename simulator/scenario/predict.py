"""From a scenario to its prediction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from simulator.fusion import Fused, fused
from simulator.scenario.resolved import Rates, ResolvedScenario, resolve
from simulator.scenario.retiming import retimed
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import traced
from simulator.simulate.step import simulate
from simulator.timing.profile import Profile
from simulator.timing.profile import learned as own_profile

if TYPE_CHECKING:
    from simulator.prediction import Prediction
    from simulator.records import Trace


def answer(scenario: Scenario) -> Prediction:
    """The prediction of a scenario with its what-ifs. InputError where it has none."""
    return solved(resolve(scenario))


def solved(found: ResolvedScenario) -> Prediction:
    """The prediction of a setting."""
    return predicted(traced(found), found)


def predicted(step: Trace | Fused, found: ResolvedScenario) -> Prediction:
    """The prediction of a setting's traced step, which may be fused already."""
    profile = learned(found)
    step = as_fused(step, found, profile)
    prediction = simulate(step, found.gpu, found.host, profile, found.mode)
    if found.speeds or found.rates != Rates():
        prediction = retimed(prediction, found.speeds, found.rates, profile)
    notes = (*found.notes, *prediction.notes)
    return replace(prediction, notes=notes) if found.notes else prediction


def as_fused(step: Trace | Fused, found: ResolvedScenario, profile: Profile) -> Trace | Fused:
    """A setting's step as the kernels of its fusion level, where it has one."""
    if found.fusion in (None, "none"):
        return step
    return fused(step, found.gpu, found.fusion, profile)


def learned(found: ResolvedScenario) -> Profile:
    """What is known of a setting's GPU, its launches as fast as they were asked for."""
    profile = own_profile(found.gpu.id)
    if found.gap_times == 1.0:
        return profile
    return msgspec.structs.replace(
        profile,
        gap_s=profile.gap_s * found.gap_times,
        graph_gap_s=profile.graph_gap_s * found.gap_times,
        graph_launch_s=profile.graph_launch_s * found.gap_times,
    )
