"""Predict a scenario: resolve it, trace its network, fuse and schedule its kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from simulator.fusion import Fused, fused
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import Rates, ResolvedScenario
from simulator.scenario.retiming import retimed
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import trace_resolved
from simulator.simulate.step import simulate
from simulator.timing.profile import Profile, learned

if TYPE_CHECKING:
    from simulator.prediction import Prediction
    from simulator.records import Trace


def predict(scenario: Scenario) -> Prediction:
    """Predict a scenario with its what-ifs. Raises InputError if it has no prediction."""
    return predict_resolved(resolve(scenario))


def predict_resolved(resolved: ResolvedScenario) -> Prediction:
    """Predict a resolved scenario."""
    return predict_trace(trace_resolved(resolved), resolved)


def predict_trace(step: Trace | Fused, resolved: ResolvedScenario) -> Prediction:
    """Predict the traced step of a resolved scenario, which may be fused already."""
    profile = scaled_profile(resolved)
    step = as_fused(step, resolved, profile)
    prediction = simulate(step, resolved.gpu, resolved.host, profile, resolved.mode)
    if resolved.speeds or resolved.rates != Rates():
        prediction = retimed(prediction, resolved.speeds, resolved.rates, profile)
    notes = (*resolved.notes, *prediction.notes)
    return replace(prediction, notes=notes) if resolved.notes else prediction


def as_fused(step: Trace | Fused, resolved: ResolvedScenario, profile: Profile) -> Trace | Fused:
    """Fuse a step to the scenario's fusion level; return the step itself if no level is set."""
    if resolved.fusion in (None, "none"):
        return step
    return fused(step, resolved.gpu, resolved.fusion, profile)


def scaled_profile(resolved: ResolvedScenario) -> Profile:
    """The profile of the scenario's GPU, its launch gaps scaled by `gap_times`."""
    profile = learned(resolved.gpu.id)
    if resolved.gap_times == 1.0:
        return profile
    return msgspec.structs.replace(
        profile,
        gap_s=profile.gap_s * resolved.gap_times,
        graph_gap_s=profile.graph_gap_s * resolved.gap_times,
        graph_launch_s=profile.graph_launch_s * resolved.gap_times,
    )
