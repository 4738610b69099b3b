"""`ridgepoint split`: the fastest split of a network over a cluster, its what-ifs and scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.options import Question, expanded
from app.quantities import seconds
from app.terminal import Terminal

if TYPE_CHECKING:
    from simulator.cluster.layout import Layout
    from simulator.parallel.prediction import ParallelPrediction
    from simulator.parallel.split_search import Splits
    from simulator.parallel.whatifs import Effect, ScalingPoint


@expanded
def split(
    question: Question,
    cluster: Annotated[
        str,
        typer.Option(metavar="CLUSTER", help="The GPUs: 8xh200, a cluster's id or a TOML file."),
    ],
    parallel: Annotated[
        str | None,
        typer.Option(metavar="LAYOUT", help="The split that --what-ifs and --scaling are about."),
    ] = None,
    what_ifs: Annotated[
        bool, typer.Option("--what-ifs", help="Show what would change the best split's step.")
    ] = False,
    scaling: Annotated[
        str | None,
        typer.Option(metavar="weak|strong", help="Show the step over 1, 2, 4 … replicas."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Splits to print.")] = 6,
) -> None:
    """Find the fastest split of a network over a cluster, under the memory limit."""
    from dataclasses import replace

    from app import progress
    from app.answers.cluster_choice import parallel_question
    from simulator.errors import InputError
    from simulator.parallel import whatifs
    from simulator.parallel.split_search import search_splits

    if scaling not in (None, "weak", "strong"):
        raise InputError(f"--scaling {scaling!r}: expected weak or strong; correct it")
    if parallel is not None and not (what_ifs or scaling):
        raise InputError(
            f"--parallel {parallel!r} without --what-ifs and --scaling: expected one of them, "
            "since the search tries all layouts; add one, or remove --parallel"
        )
    one = parallel_question(question.scenario, cluster, parallel or "ddp")
    splits = None
    with progress.shown() as step:
        if parallel is None:
            splits = search_splits(
                one.step,
                one.cluster,
                one.host,
                one.mode,
                lambda text, share: step(f"{text} ({share:.0%})"),
            )
            best = splits.best
            replica = replace(one.step, batch=best.batch // best.layout.dp)
            one = replace(one, step=replica, layout=best.layout)
        base = one.predict() if what_ifs else None
        effects = whatifs.effects(one, step) if what_ifs else []
        points = whatifs.scaling(one, scaling == "strong", step) if scaling else []
    console = Terminal(highlight=False)
    console.print(f"[bold]{question.scenario.network} on {one.cluster.name}[/bold]")
    if splits:
        _show_splits(console, splits, top)
    if base:
        _show_effects(console, one.layout, base, effects)
    if points:
        _show_scaling(console, points, whatifs.takeover(points))


def _show_splits(console: Terminal, splits: Splits, top: int) -> None:
    from collections import Counter

    best = splits.best
    console.print(
        f"  best: {best.layout}, {seconds(best.period_s)} a step of batch {best.batch:,} over all "
        "GPUs"
    )
    for each in splits.ranked[:top]:
        times = each.period_s / best.period_s
        console.print(f"  {times:5.2f}×  {seconds(each.period_s):>9}  {each.layout}: {each.reason}")
    causes = Counter(each.cause for each in splits.pruned)
    counts = ", ".join(f"{count} by {cause}" for cause, count in sorted(causes.items()))
    if splits.pruned:
        console.print(f"  pruned: {counts}")
    for each in splits.pruned[:top]:
        console.print(f"    {each.layout}: {each.reason}")


def _show_effects(
    console: Terminal, layout: Layout, base: ParallelPrediction, effects: list[Effect]
) -> None:
    console.print(f"  what-ifs of {layout}, {seconds(base.period_s)}:")
    for each in effects:
        if each.prediction is None:
            console.print(f"    +{each.text}: does not apply: {each.refusal}")
            continue
        p = each.prediction
        change = p.period_s / base.period_s - 1
        console.print(
            f"    +{each.text}: {seconds(p.period_s)} ({change:+.1%}), peak "
            f"{p.peak_memory_bytes / 1e9:.1f} GB ({base.peak_memory_bytes / 1e9:.1f} before)"
        )


def _show_scaling(console: Terminal, points: list[ScalingPoint], takeover: int | None) -> None:
    console.print("  scaling: GPUs, step, efficiency, communication's share")
    for each in points:
        share = each.prediction.shares["communication"]
        console.print(
            f"    {each.gpus:>6}  {seconds(each.prediction.period_s):>9}  {each.efficiency:6.1%}  "
            f"{share:.0%}"
        )
    where = f"from {takeover} GPUs on" if takeover else "on none of these"
    console.print(f"    communication is the largest share {where}")
