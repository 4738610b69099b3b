"""Speed up kernels of a family, or a rate of the whole machine, and schedule the step again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from simulator.costs import Work
from simulator.errors import InputError
from simulator.prediction import Columns, Prediction
from simulator.scenario.resolve import faster_host
from simulator.scenario.resolved import Rates, Speed
from simulator.simulate.step import simulate
from simulator.timing.profile import Profile


def retimed(p: Prediction, speeds: Sequence[Speed], rates: Rates, profile: Profile) -> Prediction:
    """Predict with faster kernels: `speeds` by family of kernels, `rates` for all of them.

    A speed divides a kernel's compute and memory time, but not the time to start and end it. Raises
    InputError if the step has no kernel of a family.
    """
    families = [w.family for w in p.works]
    times = np.ones(len(families))
    for speed in speeds:
        if speed.family not in families:
            raise InputError(
                f"utilisation: no kernel of family {speed.family!r}: expected one of "
                f"{', '.join(sorted(set(families)))}"
            )
        times[[f == speed.family for f in families]] *= speed.times

    def faster(works: list[Work], columns: Columns) -> Columns:
        speed = times[columns.work_of]
        return replace(
            columns,
            compute_s=columns.compute_s / speed / rates.compute,
            memory_s=columns.memory_s / speed / rates.memory,
            fixed_s=columns.fixed_s / rates.overhead,
        )

    host = faster_host(p.host, rates.overhead)
    fast_profile = _shorter_gaps(profile, rates.overhead)
    settled = p.power and p.power.settled
    return simulate(p.step, p.gpu, host, fast_profile, p.mode, faster, settled)


def _shorter_gaps(profile: Profile, times: float) -> Profile:
    """The profile with its launch gaps divided by `times`."""
    return msgspec.structs.replace(
        profile,
        gap_s=profile.gap_s / times,
        graph_gap_s=profile.graph_gap_s / times,
        graph_launch_s=profile.graph_launch_s / times,
    )
