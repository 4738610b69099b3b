"""Reasons to doubt a piece of advice, in words."""

from __future__ import annotations

from simulator.modes import replays
from simulator.prediction import Prediction
from simulator.timing.software import uncalibrated

_HIDDEN = 0.5  # warn if the step gains less than this share of what the GPU gains


def warning(base: Prediction, p: Prediction, time: float, local: float) -> str:
    """Why a local gain does not shorten the step, or "". `time` and `local` are the shares of time
    and of the GPU's busy time that a sample saves."""
    if not p.fits:
        return "it does not fit in the GPU's memory"
    if local > 0.02 and time < _HIDDEN * local:
        sync = p.idle.sync_s > p.idle.host_s
        waits = "a sync" if sync else "the host"
        first = "apply no_syncs first" if sync else "apply cuda_graph first"
        if p.mode == "cuda_graph" or replays(p.mode):
            first = "take work off the host first"
        gains = f"gains {max(time, 0.0):.0%}" if time > -0.005 else f"takes {-time:.0%} longer"
        return (
            f"the GPU has {local:.0%} less to do, but the step {gains}: it waits for {waits}; "
            f"{first}"
        )
    if local < -0.02 and time > 0:
        return f"the GPU has {-local:.0%} more to do: on a faster host the gain is smaller"
    return ""


def caution(base: Prediction, p: Prediction) -> str:
    """The doubt about a GPU whose software was not calibrated, or ""."""
    software = uncalibrated(p.gpu)
    if software is None or p.gpu.id == base.gpu.id or "interpolated" in p.tiers:
        return ""
    text = f"{software.runs} was not calibrated"
    low_s, high_s = (end / max(p.trace.samples, 1) for end in p.interval_s)
    if low_s <= base.period_s / max(base.trace.samples, 1) <= high_s:
        text += f", and the 80% interval contains the time on {base.gpu.name}"
    return text
