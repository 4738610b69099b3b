"""The tables of numbers of each op against a recording; no other test checks each number. An
intended change is recorded by `python -m tests.simulator.costs.test_recorded_tables`.
"""

from __future__ import annotations

from pathlib import Path

from simulator.costs import TRAITS
from simulator.costs.pointwise import foreach, functions, tables
from simulator.costs.spatial import resampling

RECORDING = Path(__file__).with_name("recorded_tables.txt")
_STEPS = ("UNARY", "FUNCTIONAL", "BINARY", "COMPARISON", "LOGICAL", "BACKWARD", "LONE")


def lines() -> list[str]:
    """One line per row: the table, the op, its numbers."""
    steps = [
        f"{table.lower()} {name} {row.steps}"
        for table in _STEPS
        for name, row in sorted(getattr(tables, table).items())
    ]
    slots = [
        f"slots {name} {row.slots} {row.row_slots}"
        for name, row in sorted(TRAITS.items())
        if (row.slots, row.row_slots) != (None, None)
    ]
    others = [
        f"{name} {key} {row}"
        for name, table in (
            ("foreach", foreach._STEPS),
            ("tanh_gelu", functions._TANH_GELU),
            ("taps", resampling._TAPS),
        )
        for key, row in sorted(table.items())
    ]
    return [*steps, *slots, *others]


def test_the_tables_are_those_recorded() -> None:
    assert lines() == RECORDING.read_text("utf-8").splitlines()


if __name__ == "__main__":
    RECORDING.write_text("\n".join(lines()) + "\n", "utf-8")
