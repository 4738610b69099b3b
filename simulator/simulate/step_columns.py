"""The columns of tables of predicted steps, one row per step: names, order and units."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.prediction import REGIMES, Prediction

T = TypeVar("T")


class StepColumns(NamedTuple, Generic[T]):
    """The figures of one step, or arrays of them [steps]. Times in seconds, memory in bytes.

    low_s, high_s      ends of the interval of the period
    compute … overhead shares of the period
    memory_bytes       peak memory including the libraries' workspace
    fits               1 if memory_bytes fit on the GPU, else 0
    joules, clock_hz   energy of a step and the clock under the power limit; NaN if unknown
    regime             index in REGIMES, −1 if the step has no prediction
    """

    period_s: T
    latency_s: T
    gpu_busy_s: T
    host_s: T
    low_s: T
    high_s: T
    compute: T
    memory: T
    overhead: T
    samples_per_s: T
    peak_memory_bytes: T
    memory_bytes: T
    fits: T
    joules: T
    clock_hz: T
    regime: T


COLUMNS = StepColumns._fields
COLUMN_INDEX = {name: index for index, name in enumerate(COLUMNS)}


def empty_table(rows: int) -> NDArray[np.float64]:
    """A table [rows, columns] without predictions: NaN, with −1 as the regime."""
    table = np.full((rows, len(COLUMNS)), np.nan)
    table[:, COLUMN_INDEX["regime"]] = -1
    return table


def as_columns(table: NDArray[np.float64]) -> StepColumns[NDArray[np.float64]]:
    """The columns [steps] of a table [steps, columns], as views."""
    return StepColumns(*table.T)


def as_table(columns: StepColumns[ArrayLike]) -> NDArray[np.float64]:
    """Columns [steps] as a table [steps, columns]."""
    return np.column_stack(list(columns)).astype(float)


def step_row(p: Prediction) -> StepColumns[float]:
    """The row of a prediction."""
    low_s, high_s = p.interval_s
    return StepColumns(
        period_s=p.period_s,
        latency_s=p.latency_s,
        gpu_busy_s=p.gpu_busy_s,
        host_s=p.host_s,
        low_s=low_s,
        high_s=high_s,
        compute=p.shares["compute"],
        memory=p.shares["memory"],
        overhead=p.shares["overhead"],
        samples_per_s=p.trace.samples / p.period_s if p.period_s else np.nan,
        peak_memory_bytes=float(p.peak_memory_bytes),
        memory_bytes=float(p.peak_memory_bytes + p.workspace_bytes),
        fits=float(p.fits),
        joules=p.power.joules if p.power else np.nan,
        clock_hz=p.power.clock_hz if p.power else np.nan,
        regime=float(REGIMES.index(p.regime)),
    )
