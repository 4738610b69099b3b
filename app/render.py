"""A prediction on a terminal, from 80 columns up."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from app.quantities import data, number, percent, scaled, seconds
from app.report import (
    Totals,
    idle_sentence,
    kernel_groups,
    memory_parts,
    module_groups,
    notes,
    provenance,
    totals,
    unmodelled,
    verdict,
)
from app.scenario import Subject
from simulator.prediction import REGIMES, Prediction, Regime

COLOURS: dict[Regime, str] = {"compute": "cyan", "memory": "magenta", "overhead": "yellow"}
_BLOCKS: dict[Regime, str] = {"compute": "█", "memory": "▓", "overhead": "░"}
_WIDE = 100


def show(console: Console, p: Prediction, subject: Subject, top: int) -> None:
    """Print the whole report."""
    width = min(console.width, 120)
    wide = width >= _WIDE
    console.print()
    console.print(_verdict(p, subject), width=width)
    console.print()
    console.print(_bar(p, width))
    console.print(_totals(p, subject, wide), width=width)
    console.print(_kernels(p, top, wide), width=width)
    console.print(_modules(p, top), width=width)
    console.print(_remarks(p), width=width)


def _verdict(p: Prediction, subject: Subject) -> Text:
    text = Text(verdict(p, subject), style="bold")
    text.highlight_words([f"{p.regime}-bound"], COLOURS[p.regime])
    text.highlight_regex(r"(?<=: )[\d.,]+ \S+(?= a step)", "bold underline")
    if not p.fits:
        text.append(f". It does not fit: {_against_capacity(p)}", style="bold red")
    return text


def _bar(p: Prediction, width: int) -> Group:
    """The shares of the period; the last regime takes what rounding leaves."""
    bar, legend, left = Text(), Text(), width
    for regime in REGIMES:
        cells = left if regime == REGIMES[-1] else min(left, round(width * p.shares[regime]))
        bar.append(_BLOCKS[regime] * cells, style=COLOURS[regime])
        legend.append(f"{_BLOCKS[regime]} ", style=COLOURS[regime])
        legend.append(f"{regime} {percent(p.shares[regime])}")
        legend.append("" if regime == REGIMES[-1] else "   ")
        left -= cells
    return Group(bar, legend, Text())


def _totals(p: Prediction, subject: Subject, wide: bool) -> RenderableType:
    t = totals(p, subject)
    rate = [scaled_count(t.samples_per_s, "samples/s")]
    if t.tokens_per_s:
        rate.append(scaled_count(t.tokens_per_s, "tokens/s"))
    period = p.period_s or 1.0
    launching = f"{p.kernel_count:,} from {len(p.trace.ops):,} ops"
    rows = [
        ("step, back to back", seconds(p.period_s)),
        ("step, alone", seconds(p.latency_s)),
        ("throughput", ", ".join(rate)),
        ("GPU busy", f"{seconds(p.gpu_busy_s)} ({percent(t.busy_share)})"),
        ("host work", f"{seconds(p.host_s)} ({percent(p.host_s / period)})"),
        ("kernels", launching),
    ]
    grid = Table.grid(padding=(0, 2))
    if wide:
        for _ in range(2):
            grid.add_column(style="dim", no_wrap=True)
            grid.add_column(no_wrap=True)
        half = len(rows) // 2
        for left, right in zip(rows[:half], rows[half:], strict=True):
            grid.add_row(*left, *right)
    else:
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        for row in rows:
            grid.add_row(*row)
    long = Table.grid(padding=(0, 2))
    long.add_column(style="dim", no_wrap=True, min_width=18)
    long.add_column()
    long.add_row("FLOP utilisation", _utilisation(t))
    long.add_row("GPU idle", idle_sentence(p))
    long.add_row("memory at peak", _memory(p))
    return Group(grid, long, Text())


def scaled_count(value: float, unit: str) -> str:
    """A rate of things, such as "1,360 samples/s"."""
    return f"{number(value)} {unit}" if value < 1e6 else scaled(value, unit)


def _utilisation(t: Totals) -> str:
    if not t.engine:
        return "no matrix products"
    return (
        f"{percent(t.utilisation)}: {scaled(t.product_flops, 'FLOP')} in products, "
        f"of {scaled(t.peak_flops_per_s, 'FLOP/s')} in {t.engine}"
    )


def _against_capacity(p: Prediction) -> str:
    need, capacity = p.peak_memory_bytes + p.workspace_bytes, p.gpu.memory_bytes
    return f"{number(need / 2**30)} GiB of {number(capacity / 2**30)}"


def _memory(p: Prediction) -> Text:
    parts = ", ".join(f"{name} {data(size)}" for name, size in memory_parts(p))
    text = Text("fits" if p.fits else "does not fit", style="green" if p.fits else "bold red")
    return text.append(f": {_against_capacity(p)}, of which {parts}", style="default")


def _kernels(p: Prediction, top: int, wide: bool) -> RenderableType:
    groups = kernel_groups(p)
    table = _table("Heaviest kernels")
    table.add_column("op", no_wrap=True, overflow="ellipsis")
    table.add_column("shape", no_wrap=True)
    if wide:
        table.add_column("family", no_wrap=True)
        table.add_column("math", no_wrap=True)
    _numbers(table, "count", "time", "of GPU")
    table.add_column("bound by", no_wrap=True)
    _numbers(table, "of roof")
    op_width, shape_width = (26, 22) if wide else (19, 16)
    for g in groups[:top]:
        middle = (g.family, g.dtype) if wide else ()
        table.add_row(
            _cut(g.op, op_width), _cut(g.shape, shape_width), *middle, f"{g.count:,}",
            seconds(g.total_s), percent(g.share), Text(g.regime, COLOURS[g.regime]),
            percent(g.of_roof),
        )  # fmt: skip
    if rest := groups[top:]:
        count, total = sum(g.count for g in rest), sum(g.total_s for g in rest)
        blank = ("",) * (3 if wide else 1)
        share = percent(total / p.gpu_busy_s) if p.gpu_busy_s else ""
        table.add_row(f"{len(rest)} more", *blank, f"{count:,}", seconds(total), share,
                      "", "", style="dim")  # fmt: skip
    if any(round(100 * g.of_roof) > 100 for g in groups[:top]):
        table.caption = "over 100% of DRAM's roof: served by L2"
    return Group(table, Text())


def _modules(p: Prediction, top: int) -> RenderableType:
    groups = module_groups(p)
    least = sorted((g.total_s for g in groups), reverse=True)[:top][-1:] or [0.0]
    table = _table("Heaviest modules, with all they contain")
    table.add_column("module", no_wrap=True, overflow="ellipsis")
    _numbers(table, "count", "kernels", "time", "of GPU")
    table.add_column("bound by", no_wrap=True)
    for g in groups:
        if g.total_s >= least[0] and g.share >= 0.01:
            name = Text("  " * g.depth + g.path, "bold" if g.depth == 0 else "")
            table.add_row(
                name, f"{g.count:,}", f"{g.kernels:,}", seconds(g.total_s), percent(g.share),
                Text(g.regime, COLOURS[g.regime]),
            )  # fmt: skip
    return Group(table, Text())


def _table(title: str) -> Table:
    return Table(
        title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold",
        header_style="dim", show_edge=False, pad_edge=False, caption_justify="left",
        padding=(0, 1, 0, 0),
    )  # fmt: skip


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _numbers(table: Table, *names: str) -> None:
    for name in names:
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))


def _remarks(p: Prediction) -> RenderableType:
    """What the reader must know: what is missing, what was assumed, where the numbers are from."""
    missing = unmodelled(p)
    parts: list[RenderableType] = []
    if missing:
        parts.append(_list("Not modelled: taken to cost no GPU time", missing, "bold red"))
    if p.trace.assumptions:
        parts.append(_list("Assumed, since it depends on data", assumed(p), "bold yellow"))
    if notes(p):
        parts.append(_list("Notes", notes(p), "bold"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=18)
    grid.add_column(style="dim")
    for row in provenance(p):
        grid.add_row(*row)
    return Group(*parts, grid)


def assumed(p: Prediction) -> list[str]:
    """Each assumption once, with how often it was made."""
    counts: dict[str, int] = {}
    for a in p.trace.assumptions:
        text = f"{a.name}: {a.taken}"
        counts[text] = counts.get(text, 0) + 1
    return [f"{text} (×{count})" if count > 1 else text for text, count in counts.items()]


def _list(title: str, lines: list[str], style: str, most: int = 10) -> RenderableType:
    more = [f"… and {len(lines) - most} more"] if len(lines) > most else []
    shown = [Padding(Text(line), (0, 0, 0, 2)) for line in lines[:most] + more]
    return Group(Text(title, style=style), *shown, Text())
