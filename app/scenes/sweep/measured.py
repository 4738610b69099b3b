"""Measured points of a sweep: steps timed on the GPU, and a profiler's trace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from app.answers.answer import batch_and_seq
from app.answers.measured_as import measured_sizes
from app.answers.side import Side
from app.quantities import number, seconds
from simulator.errors import InputError
from simulator.measured.profiler_trace import read
from simulator.measured.steps import alike


@dataclass(frozen=True)
class MeasuredPoint:
    """Measured seconds at a value of the axis: the time of a step or, if `busy`, the time in which
    a kernel ran."""

    value: float
    seconds: float
    busy: bool
    source: str

    def words(self, predicted_s: float) -> str:
        """The text of a point: "3.02 ms, predicted/measured 0.98 (never fitted)"."""
        prefix = "GPU busy " if self.busy else ""
        ratio = number(predicted_s / self.seconds) if self.seconds else ""
        return f"{prefix}{seconds(self.seconds)}, predicted/measured {ratio} ({self.source})"


def points(side: Side, axis: str, here: float) -> tuple[MeasuredPoint, ...]:
    """The measured points of a side along an axis, with all other fields the same; empty for axes
    other than batch and sequence."""
    batch, seq = batch_and_seq(side.scenario)
    marks: list[MeasuredPoint] = []
    if axis in ("batch", "seq") and side.scenario.trace_file is None:
        for step in alike(side.scenario):
            value, other = (step.batch, step.seq) if axis == "batch" else (step.seq, step.batch)
            if value is not None and other == (seq if axis == "batch" else batch):
                source = "part of the fit" if step.fitted else "never fitted"
                marks.append(MeasuredPoint(float(value), step.period_s, False, source))
    if side.measured:
        path = Path(side.measured)
        try:
            busy_s = _busy_s(path, path.stat().st_mtime_ns)
        except (OSError, InputError):  # the view of the measured step shows the error
            return tuple(marks)
        value = _trace_value(side, axis, here)
        if value is not None:
            marks.append(MeasuredPoint(value, busy_s, True, path.name))
    return tuple(marks)


def _trace_value(side: Side, axis: str, here: float) -> float | None:
    """The value on the axis at which the trace of a side was measured; None if no point of the axis
    was measured."""
    sizes, now = measured_sizes(side), batch_and_seq(side.scenario)
    if sizes == now:
        return here
    along = {"batch": 0, "seq": 1}.get(axis)
    if sizes is None or along is None or sizes[1 - along] != now[1 - along]:
        return None
    value = sizes[along]
    return None if value is None else float(value)


@lru_cache(maxsize=8)
def _busy_s(path: Path, _mtime_ns: int) -> float:
    return read(path).gpu_busy_s
