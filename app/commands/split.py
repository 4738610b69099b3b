"""`ridgepoint split`: the fastest split of a network over a cluster, its what-ifs and scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.options import Question, expanded
from app.quantities import seconds
from app.terminal import Terminal

if TYPE_CHECKING:
    from simulator.parallel.split_search import Splits
    from simulator.parallel.whatifs import ClusterStep, Effect, ScalingPoint


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
    case = parallel_question(question.scenario, cluster, parallel or "ddp")
    heading = f"{question.scenario.network} on {case.cluster.name}"
    with progress.shown() as step:
        if parallel is None:
            whole = replace(case.step, batch=question.scenario.batch)
            splits = search_splits(
                whole,
                case.cluster,
                case.host,
                case.mode,
                lambda text, share: step(f"{text} ({share:.0%})"),
            )
            best = splits.best
            each = replace(whole, batch=best.batch // best.layout.dp)
            case = replace(case, step=each, layout=best.layout)
        else:
            splits = None
        listed = whatifs.effects(case, step) if what_ifs else []
        points = whatifs.scaling(case, scaling == "strong", step) if scaling else []
    console = Terminal(highlight=False)
    console.print(f"[bold]{heading}[/bold]")
    if splits:
        _show_splits(console, splits, top)
    if listed:
        _show_effects(console, case, listed)
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
    reasons = Counter("memory" if "GB" in each.reason else "speed" for each in splits.pruned)
    counts = ", ".join(f"{count} by {why}" for why, count in sorted(reasons.items()))
    if splits.pruned:
        console.print(f"  pruned: {counts}")
    for each in splits.pruned[:top]:
        console.print(f"    {each.layout}: {each.reason}")


def _show_effects(console: Terminal, case: ClusterStep, listed: list[Effect]) -> None:
    base = case.predict()
    console.print(f"  what-ifs of {case.layout}, {seconds(base.period_s)}:")
    for each in listed:
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
    where = f"from {takeover} GPUs on" if takeover else "nowhere up to there"
    console.print(f"    communication is the largest share {where}")
