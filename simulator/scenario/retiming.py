"""Kernels of a family, or a rate of the whole machine, made faster; the step scheduled anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from simulator.costs import Work
from simulator.errors import InputError
from simulator.hardware.host import Host
from simulator.prediction import Columns, Prediction
from simulator.scenario.resolved import Rates, Speed
from simulator.simulate.step import simulate
from simulator.timing.profile import Profile


def retimed(p: Prediction, speeds: Sequence[Speed], rates: Rates, learned: Profile) -> Prediction:
    """The prediction with the compute and memory parts of the kernels of each family that many
    times as fast; what is fixed (a kernel's start and end) stays. InputError where no kernel is of
    the family."""
    families = [w.family for w in p.works]
    times = np.ones(len(families))
    for speed in speeds:
        if speed.family not in families:
            raise InputError(
                f"utilisation: no kernel of family {speed.family!r}: expected one of "
                f"{', '.join(sorted(set(families)))}"
            )
        times[[f == speed.family for f in families]] *= speed.times

    def changed(works: list[Work], columns: Columns) -> Columns:
        each = times[columns.work_of]
        return replace(
            columns,
            compute_s=columns.compute_s / each / rates.compute,
            memory_s=columns.memory_s / each / rates.memory,
            fixed_s=columns.fixed_s / rates.overhead,
        )

    host, own = _faster(p.host, learned, rates.overhead)
    found = simulate(
        p.fusion or p.trace, p.gpu, host, own, p.mode, changed, p.power and p.power.settled
    )
    return replace(found, host=p.host)


def _faster(host: Host, learned: Profile, times: float) -> tuple[Host, Profile]:
    """All overhead that many times as fast."""
    return (
        msgspec.structs.replace(
            host,
            seconds={name: s / times for name, s in host.seconds.items()},
            latency_s=host.latency_s / times,
            sync_s=host.sync_s / times,
        ),
        msgspec.structs.replace(
            learned,
            gap_s=learned.gap_s / times,
            graph_gap_s=learned.graph_gap_s / times,
            graph_launch_s=learned.graph_launch_s / times,
        ),
    )
