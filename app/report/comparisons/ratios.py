"""Figures that compare predictions."""

from __future__ import annotations

from collections.abc import Sequence

from app.quantities import number
from simulator.prediction import Prediction


def per_sample(predictions: Sequence[Prediction]) -> bool:
    """Whether the scenarios differ in samples per step, so that times are compared per sample."""
    return len({p.trace.samples for p in predictions}) > 1


def sample_s(p: Prediction) -> float:
    """Seconds per sample for steps back to back."""
    return p.period_s / max(p.trace.samples, 1)


def dram_bytes(p: Prediction) -> float:
    """Bytes that the step's kernels read and write."""
    each = [float(w.bytes) for w in p.works]
    rows: list[int] = p.columns.work_of.tolist()
    return float(sum(each[row] for row in rows))


def ratio(one: Prediction, other: Prediction) -> str:
    """The ratio of two predictions as text, such as "1.92 times faster, 80% intervals apart"; per
    sample if the batches differ.
    """
    by_sample = per_sample((one, other))
    before, after = (
        (sample_s(one), sample_s(other)) if by_sample else (one.period_s, other.period_s)
    )
    if abs(after / before - 1) < 0.0005 if before else True:
        return "as fast"
    times = before / after
    text = f"{number(times)} times faster" if times > 1 else f"{number(1 / times)} times slower"
    text += " per sample" if by_sample else ""
    scale = 1 / max(one.trace.samples, 1), 1 / max(other.trace.samples, 1)
    a, b = (tuple(v * s for v in p.interval_s) for p, s in zip((one, other), scale, strict=True))
    disjoint = a[0] > b[1] or b[0] > a[1]
    return f"{text}, 80% intervals {'apart' if disjoint else 'overlap'}"
