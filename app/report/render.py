"""The report of a prediction on a terminal of at least 80 columns."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from app.answers.figures import (
    Totals,
    idle_sentence,
    memory_parts,
    notes,
    provenance,
    totals,
    unmodelled,
    verdict,
)
from app.answers.groups import kernel_groups, module_groups
from app.answers.power import energy_sentence, power_sentence
from app.answers.subject import Subject
from app.quantities import count_of, cut, data, percent, scaled, seconds
from app.report.tables import COLOURS, legend, numbers, shares_bar, table
from simulator.prediction import Prediction

_WIDE = 100


def show(console: Console, p: Prediction, subject: Subject, top: int) -> None:
    """Print the whole report."""
    width = min(console.width, 120)
    wide = width >= _WIDE
    console.print()
    console.print(_verdict(p, subject), width=width)
    console.print()
    console.print(Group(shares_bar(p.shares, width), legend(p.shares), Text()))
    console.print(_totals(p, subject, wide), width=width)
    console.print(_kernels(p, top, wide), width=width)
    console.print(_modules(p, top), width=width)
    console.print(_remarks(p), width=width)


def _verdict(p: Prediction, subject: Subject) -> Text:
    text = Text(verdict(p, subject), style="bold")
    text.highlight_words([f"{p.regime}-bound"], COLOURS[p.regime])
    text.highlight_regex(r"(?<=: )[\d.,]+ \S+(?= a step)", "bold underline")
    text.highlight_regex(r"[\d,]+ of [\d,]+ ops (is|are) not modelled.*", "bold red")
    if not p.fits:
        text.append(f". It does not fit: {_against_capacity(p)}", style="bold red")
    return text


def _totals(p: Prediction, subject: Subject, wide: bool) -> RenderableType:
    t = totals(p, subject)
    rate = [count_of(t.samples_per_s, "samples/s")]
    if t.tokens_per_s:
        rate.append(count_of(t.tokens_per_s, "tokens/s"))
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
    long.add_row("power", power_sentence(p))
    if p.power is not None:
        long.add_row("energy", energy_sentence(p))
    return Group(grid, long, Text())


def _utilisation(t: Totals) -> str:
    if not t.engine:
        return "no matrix products"
    return (
        f"{percent(t.utilisation)}: {scaled(t.product_flops, 'FLOP')} in products, "
        f"of {scaled(t.peak_flops_per_s, 'FLOP/s')} in {t.engine}"
    )


def _against_capacity(p: Prediction) -> str:
    return f"{data(p.peak_memory_bytes + p.workspace_bytes)} of {data(p.gpu.memory_bytes)}"


def _memory(p: Prediction) -> Text:
    parts = ", ".join(f"{name} {data(size)}" for name, size in memory_parts(p))
    text = Text("fits" if p.fits else "does not fit", style="green" if p.fits else "bold red")
    return text.append(f": {_against_capacity(p)}: {parts}", style="default")


def _kernels(p: Prediction, top: int, wide: bool) -> RenderableType:
    groups = kernel_groups(p)
    shown = table("Heaviest kernels")
    shown.add_column("op", no_wrap=True, overflow="ellipsis")
    shown.add_column("shape", no_wrap=True)
    if wide:
        shown.add_column("family", no_wrap=True)
        shown.add_column("math", no_wrap=True)
    numbers(shown, "count", "time", "of GPU")
    shown.add_column("bound by", no_wrap=True)
    numbers(shown, "of roof")
    op_width, shape_width = (26, 22) if wide else (19, 16)
    for g in groups[:top]:
        middle = (g.family, g.dtype) if wide else ()
        shown.add_row(
            cut(g.op, op_width),
            cut(g.shape, shape_width),
            *middle,
            f"{g.count:,}",
            seconds(g.total_s),
            percent(g.share),
            Text(g.regime, COLOURS[g.regime]),
            f"{percent(g.of_roof)} {g.roof}",
        )
    if rest := groups[top:]:
        count, total = sum(g.count for g in rest), sum(g.total_s for g in rest)
        blank = ("",) * (3 if wide else 1)
        share = percent(total / p.gpu_busy_s) if p.gpu_busy_s else ""
        shown.add_row(
            f"{len(rest)} more", *blank, f"{count:,}", seconds(total), share, "", "", style="dim"
        )
    if any(round(100 * g.of_roof) > 100 and g.roof == "DRAM" for g in groups[:top]):
        shown.caption = "over 100% of the DRAM roof: L2 serves part of the reads"
    return Group(shown, Text())


def _modules(p: Prediction, top: int) -> RenderableType:
    groups = module_groups(p)
    least = sorted((g.total_s for g in groups), reverse=True)[:top][-1:] or [0.0]
    shown = table("Heaviest modules, with their contents")
    shown.add_column("module", no_wrap=True, overflow="ellipsis")
    numbers(shown, "count", "kernels", "time", "of GPU")
    shown.add_column("bound by", no_wrap=True)
    for g in groups:
        if g.total_s >= least[0] and g.share >= 0.01:
            name = Text("  " * g.depth + g.path, "bold" if g.depth == 0 else "")
            shown.add_row(
                name,
                f"{g.count:,}",
                f"{g.kernels:,}",
                seconds(g.total_s),
                percent(g.share),
                Text(g.regime, COLOURS[g.regime]),
            )
    return Group(shown, Text())


def _remarks(p: Prediction) -> RenderableType:
    """Remarks: ops without a model, assumptions, notes and provenance."""
    missing = unmodelled(p)
    parts: list[RenderableType] = []
    if missing:
        parts.append(note_list("Not modelled: assumed to take no GPU time", missing, "bold red"))
    if p.trace.assumptions:
        parts.append(note_list("Assumed, because it depends on data", assumed(p), "bold yellow"))
    if notes(p):
        parts.append(note_list("Notes", notes(p), "bold"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=18)
    grid.add_column(style="dim")
    for row in provenance(p):
        grid.add_row(*row)
    return Group(*parts, grid)


def assumed(p: Prediction) -> list[str]:
    """Each assumption once, with its count."""
    counts: dict[str, int] = {}
    for a in p.trace.assumptions:
        text = f"{a.name}: {a.taken}"
        counts[text] = counts.get(text, 0) + 1
    return [f"{text} (×{count})" if count > 1 else text for text, count in counts.items()]


def note_list(title: str, lines: list[str], style: str, most: int = 10) -> RenderableType:
    more = [f"… and {len(lines) - most} more"] if len(lines) > most else []
    shown = [Padding(Text(line), (0, 0, 0, 2)) for line in lines[:most] + more]
    return Group(Text(title, style=style), *shown, Text())
