"""`ridgepoint map`: the regime over two axes, as a table, arrays and a picture.

Modules of the simulator and of the reports are imported where the command runs: the help needs
none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.options import Question, Written, expanded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from app.answers.axes import AxisValues
    from app.answers.mapped import Mapped

FORMAT, VERSION = "ridgepoint-map", 1
_AXIS = "An axis: batch, seq=16:512, bandwidth=0.5:4, gpu=h100,h200, any what-if or any size."


@expanded
def regime_map(
    question: Question,
    written: Written,
    x: Annotated[str, typer.Option(metavar="AXIS[=VALUES]", help=_AXIS)] = "batch",
    y: Annotated[
        str | None,
        typer.Option(metavar="AXIS[=VALUES]", help=_AXIS, show_default="seq, else host_speed"),
    ] = None,
) -> None:
    """Map the regime over two axes, with the boundaries between regimes."""
    from app import outputs, progress
    from app.answers.axes import line
    from app.answers.mapped import mapped_over
    from app.answers.subject import heading_of, subject

    written.check()
    scenario = question.scenario
    with progress.shown() as step:
        traced = subject(scenario, step)
        axes = line(scenario, x), line(scenario, y or _usual(traced.seq, x))
        total = len(axes[0].values) * len(axes[1].values)
        mapped = mapped_over(
            scenario, *axes, lambda done: step(f"predicting {done:,} of {total:,} points")
        )
        heading = heading_of(traced, scenario, (axes[0].name, axes[1].name))
    if written.json:
        from app.report.exports import json_text

        outputs.write("--json", written.json, json_text(document(mapped, heading)))
    if written.csv:
        from app.report.exports import csv_text

        rows = rows_of(mapped)
        outputs.write("--csv", written.csv, csv_text(list(rows[0]), rows))
    if written.png or written.svg:
        from app.charts.regime_map.regime_map import regime_map_page
        from app.widgets.drawing import put

        put(written, lambda metrics: regime_map_page(mapped, heading, metrics))
    if written.printed:
        _show(mapped, heading)


def _usual(seq: int | None, x: str) -> str:
    name = x.partition("=")[0]
    choices = ("seq", "batch") if seq else ("host_speed", "batch")
    return next(choice for choice in choices if choice != name)


def rows_of(mapped: Mapped) -> list[dict[str, Any]]:
    """One row per point."""
    rows = mapped.sweep.rows()
    for row in rows:
        row["fits"] = None if row["refused"] else bool(row["fits"])
    return rows


def document(mapped: Mapped, heading: str) -> dict[str, Any]:
    """The map as a JSON document: grids are [y][x], boundaries lines of [x, y]."""
    from simulator.prediction import REGIMES

    regimes = mapped.map
    names = [[None if r < 0 else REGIMES[r] for r in row] for row in regimes.regime.tolist()]
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


def _show(mapped: Mapped, heading: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from app.answers.swept import retraced
    from app.quantities import plain, seconds
    from app.report.tables import BLOCKS, COLOURS, legend
    from app.terminal import Terminal
    from simulator.prediction import REGIMES

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
    from app.quantities import number

    def place(axis: AxisValues, value: float) -> str:
        if not axis.numeric:
            return f"{axis.name} {axis.values[round(value)]}"
        return f"{axis.name} {number(value, 2)}"

    longest = max(lines, key=len)
    ends = [f"{place(mapped.x, x)}, {place(mapped.y, y)}" for x, y in longest[[0, -1]].tolist()]
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    return f"{ends[0]} to {ends[1]}{more}"
