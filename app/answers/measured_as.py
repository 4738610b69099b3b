"""Whether a profiler trace still measures a scenario that has changed since it was overlaid."""

from __future__ import annotations

from dataclasses import replace

from app.answers.answer import batch_and_seq
from app.answers.side import Side
from simulator.scenario.scenario import Scenario


def measured_sizes(side: Side) -> tuple[int | None, int | None] | None:
    """Batch and sequence of the measured step, or None if it differs from the side in more than
    these. The host does not count, since it does not change the time of the kernels."""
    measured = side.measured_as or side.scenario
    if _without_sizes(measured).key != _without_sizes(side.scenario).key:
        return None
    return batch_and_seq(measured)


def difference(side: Side) -> str:
    """What the trace measured, if it is not the step of a side: "at batch 8 × 128"."""
    sizes = measured_sizes(side)
    if sizes is None:
        return "for another scenario"
    if sizes == batch_and_seq(side.scenario):
        return ""
    batch, seq = sizes
    if batch is None:
        return "at the network's own batch"
    return f"at batch {batch}" + (f" × {seq}" if seq else "")


def _without_sizes(scenario: Scenario) -> Scenario:
    return replace(scenario, batch=None, seq=None, host=None, host_speed=1.0)
