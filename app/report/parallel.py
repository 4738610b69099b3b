"""A step over several GPUs, and the list of clusters, on the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table

from app.answers.cluster.words import (
    PARTS,
    PARTS_HEAD,
    SHARES_HEAD,
    part_seconds,
    power_words,
    ranks_words,
    step_notes,
    whole_percents,
)
from app.quantities import data, number, seconds
from app.terminal import Terminal
from simulator.cluster import clusters
from simulator.parallel.prediction import ParallelPrediction
from simulator.parallel.rank_parts import rank_parts


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
    console.print(f"  {SHARES_HEAD}: {shares}")
    console.print(
        f"  communication {seconds(p.communication_s)}, exposed "
        f"{seconds(p.exposed_communication_s)}, waits for other ranks {seconds(p.waiting_s)}"
    )
    console.print(f"  power: {power_words(p)}")
    causes = ", ".join(f"{cause} {seconds(s)}" for cause, s in p.idle.items())
    console.print(f"  idle: {causes}")
    for rank in p.ranks:
        over = data(rank.needed_bytes - p.cluster.gpu.memory_bytes)
        fits = "" if rank.fits else f", does not fit: {over} more than the GPU has"
        console.print(
            f"  {ranks_words(rank.ranks)}: {len(rank.kernels)} kernels, "
            f"host {seconds(rank.host_s)}, GPU busy {seconds(rank.gpu_busy_s)}, peak memory "
            f"{data(rank.needed_bytes)}{fits}"
        )
        parts = {
            PARTS[kind]: part_s / p.period_s
            for kind, part_s in part_seconds(rank_parts(p, rank)).items()
            if part_s > 0
        }
        words = ", ".join(f"{name} {n}%" for name, n in whole_percents(parts).items())
        console.print(f"    {PARTS_HEAD}: {words}")
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
