"""Building blocks of tables on a terminal: columns, coloured regimes, bars of shares."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from app.quantities import percent
from app.theme import TERMINAL
from simulator.prediction import REGIMES, Regime, Shares

COLOURS: dict[Regime, str] = {regime: TERMINAL[regime] for regime in REGIMES}
BLOCKS: dict[Regime, str] = {"compute": "█", "memory": "▓", "overhead": "░"}


def table(title: str | None = None) -> Table:
    """An empty table in the style of the report."""
    return Table(
        title=title,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        header_style="dim",
        show_edge=False,
        pad_edge=False,
        caption_justify="left",
        padding=(0, 1, 0, 0),
    )


def numbers(shown: Table, *names: str) -> None:
    """Add right-aligned columns of figures that do not wrap."""
    for name in names:
        width = max(map(len, name.split("\n")))
        shown.add_column(name, justify="right", no_wrap=True, min_width=width)


def words(shown: Table, *names: str) -> None:
    """Add columns of words that do not wrap."""
    for name in names:
        shown.add_column(name, no_wrap=True, overflow="ellipsis")


def regime_text(regime: Regime | None) -> Text:
    """A regime as a word in its colour."""
    return Text("–", "dim") if regime is None else Text(regime, COLOURS[regime])


def shares_bar(shares: Shares, width: int) -> Text:
    """A bar of `width` cells; the last regime takes the cells that rounding leaves."""
    bar, left = Text(), width
    for regime in REGIMES:
        cells = left if regime == REGIMES[-1] else min(left, round(width * shares[regime]))
        bar.append(BLOCKS[regime] * cells, style=COLOURS[regime])
        left -= cells
    return bar


def legend(shares: Shares | None = None) -> Text:
    """A legend: the blocks of the regimes with their names, and their shares if given."""
    text = Text()
    for regime in REGIMES:
        text.append(f"{BLOCKS[regime]} ", style=COLOURS[regime])
        text.append(regime if shares is None else f"{regime} {percent(shares[regime])}")
        text.append("" if regime == REGIMES[-1] else "   ")
    return text
