"""Tables of predicted steps keep the names and the order of their columns."""

import numpy as np

from simulator.prediction import REGIMES
from simulator.simulate.step_columns import (
    COLUMN_INDEX,
    COLUMNS,
    StepColumns,
    as_columns,
    as_table,
    empty_table,
)


def test_saved_tables_depend_on_this_order() -> None:
    assert COLUMNS == (
        "period_s", "latency_s", "gpu_busy_s", "host_s", "low_s", "high_s",
        "compute", "memory", "overhead", "samples_per_s", "peak_memory_bytes", "memory_bytes",
        "fits", "joules", "clock_hz", "regime",
    )  # fmt: skip


def test_the_shares_are_those_of_the_regimes_in_their_order() -> None:
    first = COLUMN_INDEX["compute"]
    assert COLUMNS[first : first + len(REGIMES)] == REGIMES


def test_a_table_has_its_columns_by_name() -> None:
    table = as_table(StepColumns(*(np.array([i, 10.0 * i]) for i in range(len(COLUMNS)))))
    assert table.shape == (2, 16)
    assert as_columns(table).fits.tolist() == [12.0, 120.0]
    assert table[:, COLUMN_INDEX["fits"]].tolist() == [12.0, 120.0]


def test_an_empty_table_has_no_regime() -> None:
    columns = as_columns(empty_table(3))
    assert columns.regime.tolist() == [-1.0, -1.0, -1.0]
    assert np.isnan(np.stack(columns[:-1])).all()
