"""A regime map as a table on the terminal, as a document and as rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from app.answers.sweeps.axes import AxisValues
from app.answers.sweeps.regime_map import Mapped
from app.answers.sweeps.sweep import retraced
from app.quantities import number, plain, seconds
from app.report.exports import csv_text
from app.report.tables import BLOCKS, COLOURS, legend
from app.terminal import Terminal
from simulator.prediction import REGIMES

FORMAT, VERSION = "ridgepoint-map", 1


def as_csv(mapped: Mapped) -> str:
    """One row per point."""
    rows = mapped.sweep.rows()
    for row in rows:
        row["fits"] = None if row["refused"] else bool(row["fits"])
    return csv_text(list(rows[0]), rows)


def document(mapped: Mapped, heading: str) -> dict[str, Any]:
    """The map as a JSON document: grids are [y][x], boundaries lines of [x, y]."""
    regimes = mapped.map
    rows: list[list[int]] = regimes.regime.tolist()
    names = [[None if r < 0 else REGIMES[r] for r in row] for row in rows]
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": heading,
        "x": regimes.x,
        "y": regimes.y,
        "xs": list(regimes.xs),
        "ys": list(regimes.ys),
        "regime": names,
        "period_s": regimes.period_s.tolist(),
        "shares": {r: regimes.shares[:, :, i].tolist() for i, r in enumerate(REGIMES)},
        "fits": [
            [None if v != v else bool(v) for v in row] for row in mapped.column("fits").tolist()
        ],
        "boundaries": [
            {"between": list(b.between), "lines": [line.tolist() for line in b.lines]}
            for b in regimes.boundaries
        ],
        "refused": sorted(set(regimes.refused)),
    }


def show(mapped: Mapped, heading: str) -> None:
    """Print the map as blocks of colour, with times where they fit, then the boundaries."""
    console = Terminal(highlight=False)
    width = min(console.width, 120)
    regimes = mapped.map

    def label(value: object) -> str:
        return plain(value) if isinstance(value, int | float) else str(value)

    console.print()
    console.print(Text(f"{heading}: {regimes.x} across, {regimes.y} up", "bold"), width=width)
    console.print()
    xs, ys = [label(v) for v in regimes.xs], [label(v) for v in regimes.ys]
    times = [[seconds(v, 2) for v in row] for row in regimes.period_s.tolist()]
    widest = max(len(t) for row in times for t in row)
    side = max(map(len, ys))
    figures = side + 1 + len(xs) * (max(widest, *map(len, xs)) + 3) <= width
    cell = (
        (max(widest, *map(len, xs)) + 2) if figures else max(1, (width - side - 2) // len(xs) - 1)
    )
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(justify="right", style="dim", no_wrap=True)
    fits = mapped.column("fits")
    for _ in xs:
        grid.add_column(no_wrap=True, min_width=cell, overflow="crop")
    for row in reversed(range(len(ys))):
        cells: list[Text] = []
        for column in range(len(xs)):
            number = int(regimes.regime[row, column])
            if number < 0:
                cells.append(Text("–" * cell, "dim"))
                continue
            regime = REGIMES[number]
            block = BLOCKS[regime]
            text = f"{block} {times[row][column]}" if figures else block * cell
            over = " strike" if not fits[row, column] else ""
            cells.append(Text(text, COLOURS[regime] + over))
        grid.add_row(ys[row], *cells)
    if figures or cell >= max(map(len, xs)):
        grid.add_row("", *(Text(x, "dim") for x in xs))
    else:
        grid.add_row("", Text(xs[0], "dim"), *([""] * (len(xs) - 2)), Text(xs[-1], "dim"))
    console.print(grid)
    console.print()
    console.print(legend())
    known = fits[fits == fits]
    if (known == 0).any():
        console.print("struck through: does not fit in GPU memory", style="dim")
    for reason in sorted(set(regimes.refused))[:3]:
        console.print(Text(f"no answer (–): {reason}", "dim"), width=width)
    if note := retraced(mapped.sweep):
        console.print(Text(note, "dim"), width=width)
    for boundary in regimes.boundaries:
        one, other = boundary.between
        console.print(
            Text(f"{one} / {other} boundary: {_ends(mapped, boundary.lines)}"), width=width
        )


def _ends(mapped: Mapped, lines: tuple[NDArray[np.float64], ...]) -> str:
    """The ends of the longest line of a boundary: "batch 4, seq 512 to batch 113, seq 64"."""

    def place(axis: AxisValues, value: float) -> str:
        if not axis.numeric:
            return f"{axis.name} {axis.values[round(value)]}"
        return f"{axis.name} {number(value, 2)}"

    longest = max(lines, key=len)
    ends = [f"{place(mapped.x, x)}, {place(mapped.y, y)}" for x, y in longest[[0, -1]].tolist()]
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    return f"{ends[0]} to {ends[1]}{more}"
