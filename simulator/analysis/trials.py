"""The what-ifs that advice tries, and why each may help: the checklist of the essay "Making Deep
Learning Go Brrrr From First Principles".

Overhead: take the host out (tracing, graphs, a larger batch). Memory: move fewer bytes (fuse,
narrower types). Compute: use the tensor cores, a lower precision, better shapes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from simulator.prediction import REGIMES, Prediction, Regime
from simulator.scenario.trial import Trial
from simulator.timing.rates import roof_flops_per_s
from simulator.whatif import whatifs

By = Literal["time", "memory", "money"]


def reason(trial: Trial, base: Prediction, p: Prediction, by: By = "time") -> str:
    """Why a what-if helps, in one sentence about the step: the regime (or the kind of memory) that
    it reduces most, and how it does so."""
    if by == "memory":
        return _less_memory(trial, base, p)
    regime = _relieved(base, p)
    name = "memory bandwidth" if regime == "memory" else regime
    first = f"{name} is {base.shares[regime]:.0%} of the step: "
    if trial.text.startswith("+gpu="):
        return first + (_against(base, p, regime) or _moved(base, p, regime))
    if not trial.aims or regime in trial.aims:
        return first + trial.how
    if regime == "overhead" and not _launches_saved(base, p):
        return f"{_shrunk(base, p)}: {trial.how}"
    return first + _moved(base, p, regime)


def _less_memory(trial: Trial, base: Prediction, p: Prediction) -> str:
    before, after = base.memory.at_peak, p.memory.at_peak
    most = max(before, key=lambda role: before[role] - after.get(role, 0), default=None)
    if most is None:
        return trial.how
    share = before[most] / base.peak_memory_bytes
    return f"{_HELD.get(most, most)} hold {share:.0%} of the peak: {trial.how}"


_HELD = {
    "weight": "weights", "buffer": "buffers", "input": "inputs", "activation": "activations",
    "gradient": "gradients", "optimizer": "optimizer states",
}  # fmt: skip


def _relieved(base: Prediction, changed: Prediction) -> Regime:
    """The regime whose time per sample falls most."""
    one, other = (p.period_s / max(p.trace.samples, 1) for p in (base, changed))
    return max(REGIMES, key=lambda r: base.shares[r] * one - changed.shares[r] * other)


def _against(base: Prediction, p: Prediction, regime: Regime) -> str:
    """The advantages of another card that reduce the regime's time, or an empty string."""
    old, new = base.gpu, p.gpu
    each = np.bincount(base.columns.work_of, base.columns.compute_s, len(base.works))
    work = base.works[int(each.argmax())] if each.size else None
    refusals: dict[str, str] = {}
    wide = new.bandwidth_bytes_per_s / old.bandwidth_bytes_per_s
    if wide > 1:
        refusals["memory"] = f"{wide:.2g}× the bandwidth"
    elif regime == "memory" and old.l2_bytes and new.l2_bytes and new.l2_bytes > old.l2_bytes:
        refusals["memory"] = f"{new.l2_bytes / old.l2_bytes:.2g}× the L2 cache"
    if work is not None:
        peaks = [roof_flops_per_s(card, work) for card in (new, old)]
        if peaks[0] > peaks[1]:
            engine = "tensor" if work.engine == "tensor" else "vector"
            times = peaks[0] / peaks[1]
            refusals["compute"] = f"{times:.2g}× the {engine} peak in {work.dtype}"
    if regime not in refusals:
        return ""
    parts = [refusals[regime], *(text for name, text in refusals.items() if name != regime)]
    return f"{new.name} has {' and '.join(parts)}"


def _moved(base: Prediction, p: Prediction, regime: Regime) -> str:
    """What a sample needs less of: launches, host work, or the time of a family of kernels."""
    saved = _launches_saved(base, p) if regime == "overhead" else ""
    return saved or _shrunk(base, p)


def _launches_saved(base: Prediction, changed: Prediction) -> str:
    """The reduction in launches or host work per sample, or an empty string."""
    for unit, figures in (
        ("fewer launches", [p.kernel_count / max(p.trace.samples, 1) for p in (base, changed)]),
        ("less host work", [p.host_s / max(p.trace.samples, 1) for p in (base, changed)]),
    ):
        if figures[1] < figures[0] * 0.99:
            return f"{1 - figures[1] / figures[0]:.0%} {unit}"
    return ""


def _shrunk(base: Prediction, changed: Prediction) -> str:
    """The family of kernels whose time per sample falls most."""
    one, other = (_by_family(p) for p in (base, changed))
    most = max(one, key=lambda family: one[family] - other.get(family, 0.0), default="")
    saved = 1 - other.get(most, 0.0) / one[most] if most and one[most] else 0.0
    if saved >= 1:
        return f"no {most} kernel is left"
    return f"{most} kernels take {saved:.0%} less time" if saved > 0 else "kernels start sooner"


def _by_family(p: Prediction) -> dict[str, float]:
    """Seconds per sample of the kernels of each family."""
    each = np.bincount(p.columns.work_of, p.columns.duration_s, len(p.works))
    each /= max(p.trace.samples, 1)
    seconds_of: dict[str, float] = {}
    for work, seconds in zip(p.works, each.tolist(), strict=True):
        seconds_of[work.family] = seconds_of.get(work.family, 0.0) + seconds
    return seconds_of


TRIALS = tuple(trial for whatif in whatifs() for trial in whatif.trials)
