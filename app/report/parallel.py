"""A step over several GPUs, and the list of clusters, on the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table

from app.answers.cluster.words import power_words, ranks_words, step_notes
from app.quantities import number, scaled, seconds
from app.terminal import Terminal
from simulator.cluster import clusters
from simulator.parallel.prediction import ParallelPrediction


def show(p: ParallelPrediction, heading: str) -> None:
    """Print the report."""
    console = Terminal(highlight=False)
    low, high = p.interval_s
    console.print(f"[bold]{heading}[/bold] on {p.cluster.name}, {p.mode}")
    console.print(
        f"  step {seconds(p.period_s)} (80%: {seconds(low)} to {seconds(high)}), "
        f"bound by {p.regime}"
    )
    shares = ", ".join(f"{name} {share:.0%}" for name, share in p.shares.items())
    console.print(f"  shares: {shares}")
    console.print(
        f"  communication {seconds(p.communication_s)}, exposed "
        f"{seconds(p.exposed_communication_s)}, waits for other ranks {seconds(p.waiting_s)}"
    )
    console.print(f"  power: {power_words(p)}")
    causes = ", ".join(f"{cause} {seconds(s)}" for cause, s in p.idle.items())
    console.print(f"  idle: {causes}")
    for rank in p.ranks:
        over = scaled(rank.needed_bytes - p.cluster.gpu.memory_bytes, "B")
        fits = "" if rank.fits else f", does not fit: {over} more than the GPU has"
        console.print(
            f"  {ranks_words(rank.ranks)}: {len(rank.kernels)} kernels, "
            f"host {seconds(rank.host_s)}, GPU busy {seconds(rank.gpu_busy_s)}, peak memory "
            f"{scaled(rank.needed_bytes, 'B')}{fits}"
        )
        for name, count in rank.unmodelled.items():
            console.print(f"    not modelled: {name} × {count}")
    for note in step_notes(p):
        console.print(f"  note: {note}")


def all_clusters() -> None:
    """Print every packaged cluster as a row."""
    table = Table(box=box.SIMPLE_HEAD, header_style="dim", show_edge=False, pad_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("name", no_wrap=True, overflow="ellipsis", max_width=24)
    for name in ("nodes", "GPUs", "links", "GB/s", "network"):
        table.add_column(name, no_wrap=True)
    for c in clusters():
        network = (
            "–"
            if c.network is None
            else (f"{c.network.kind} {number(c.network.bandwidth_bytes_per_s * 8e-9)} Gb/s")
        )
        table.add_row(
            c.id,
            c.name,
            str(c.nodes),
            str(c.gpus),
            c.link.fabric,
            number(c.link.bandwidth_bytes_per_s / 1e9),
            network,
        )
    console = Terminal(highlight=False)
    console.print(table)
    console.print(
        "GB/s: all links of one GPU in one direction. '4xh200' names one node of any GPU; a TOML "
        "file describes others.",
        style="dim",
    )
