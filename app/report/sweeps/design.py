"""The rows of a design: as CSV, as Parquet, and a summary on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from app.quantities import seconds
from app.report.exports import csv_text
from app.terminal import Terminal
from simulator.analysis.design.design import Design, Rows
from simulator.errors import InputError
from simulator.prediction import REGIMES
from simulator.simulate.step_columns import COLUMN_INDEX, COLUMNS


def columns(design: Design) -> list[str]:
    """The names of the columns: the axes, the figures, and the reason for missing figures."""
    return [*_axes(design).values(), *COLUMNS, "refused"]


def as_rows(design: Design, rows: Rows) -> Iterator[dict[str, Any]]:
    """The rows as mappings, in the order of the design."""
    names = _axes(design)
    for point, figures in zip(rows.points, rows.table.tolist(), strict=True):
        values = {names[axis]: value for axis, value in design.values(point).items()}
        regime = int(figures[COLUMN_INDEX["regime"]])
        refused = rows.refused.get(point)
        yield {
            **values,
            **dict(zip(COLUMNS, figures, strict=True)),
            "fits": None if refused else bool(figures[COLUMN_INDEX["fits"]]),
            "regime": REGIMES[regime] if regime >= 0 else None,
            "refused": refused,
        }


def as_csv(design: Design, rows: Rows) -> str:
    """One row per point; figures are numbers in SI units."""
    return csv_text(columns(design), as_rows(design, rows))


def need_parquet() -> Any:
    """The modules that write Parquet. Raises InputError if they are not installed."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ModuleNotFoundError as error:
        raise InputError(
            f"--parquet: needs {error.name}, which is not installed: "
            'pip install "ridgepoint[parquet]", or use --csv'
        ) from None


def write_parquet(path: Path, design: Design, rows: Rows) -> None:
    """Write one row per point as Parquet. An axis of several types becomes text."""
    arrow, parquet = need_parquet()
    listed = list(as_rows(design, rows))
    table: dict[str, list[Any]] = {}
    for name in columns(design):
        cells = [row[name] for row in listed]
        kinds: set[type[object]] = {type(cell) for cell in cells if cell is not None}
        mixed = len(kinds) > 1 or kinds & {tuple}
        table[name] = [str(cell) for cell in cells] if mixed else cells
    parquet.write_table(arrow.table(table), path)


def show(design: Design, rows: Rows, path: Path, damaged: int) -> None:
    """Print the number of rows, the fastest row, and the reasons for rows without an answer."""
    console = Terminal(highlight=False)
    total = len(rows.points)
    answered = total - len(rows.refused)
    console.print(f"{total:,} rows in {path}, {answered:,} predicted")
    if answered:
        rates = rows.table[:, COLUMN_INDEX["samples_per_s"]].tolist()
        best = max(range(total), key=lambda at: rates[at] if rates[at] == rates[at] else -1.0)
        period_s = float(rows.table[best, COLUMN_INDEX["period_s"]])
        where = ", ".join(f"{k} {v}" for k, v in design.values(rows.points[best]).items())
        console.print(
            f"most samples a second: {rates[best]:,.4g} at {where}, {seconds(period_s)} a step"
        )
    if rows.refused:
        point, reason = next(iter(rows.refused.items()))
        where = ", ".join(f"{k} {v}" for k, v in design.values(point).items())
        console.print(f"no answer in {len(rows.refused):,}, first at {where}: {reason}")
    if damaged:
        console.print(f"{damaged} damaged lines skipped, their points predicted again")


def _axes(design: Design) -> dict[str, str]:
    """The columns of the axes; an axis with the name of a figure gets a plus, such as "+memory"."""
    return {name: f"+{name}" if name in COLUMNS else name for name in design.axes}
