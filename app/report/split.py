"""The splits of a network over a cluster, the what-ifs of the best split, and its scaling."""

from __future__ import annotations

from collections import Counter

from app.quantities import data, seconds
from app.terminal import Terminal
from simulator.cluster.layout import Layout
from simulator.parallel.prediction import ParallelPrediction
from simulator.parallel.split_search import Splits
from simulator.parallel.whatifs import Effect, ScalingPoint


def show_splits(console: Terminal, splits: Splits, top: int) -> None:
    """Print the fastest splits, and the number of splits pruned by each limit."""
    best = splits.best
    console.print(f"  best: {best.layout}, {seconds(best.period_s)} a step")
    for each in splits.ranked[:top]:
        times = each.period_s / best.period_s
        console.print(f"  {times:5.2f}×  {seconds(each.period_s):>9}  {each.layout}: {each.reason}")
    causes = Counter(each.cause for each in splits.pruned)
    counts = ", ".join(f"{count} by {cause}" for cause, count in sorted(causes.items()))
    if splits.pruned:
        console.print(f"  pruned: {counts}")
    for each in splits.pruned[:top]:
        console.print(f"    {each.layout}: {each.reason}")


def show_effects(
    console: Terminal, layout: Layout, base: ParallelPrediction, effects: list[Effect]
) -> None:
    """Print the effect of each what-if on the step `base`."""
    console.print(f"  what-ifs of {layout}, {seconds(base.period_s)}:")
    for each in effects:
        if each.prediction is None:
            console.print(f"    +{each.text}: does not apply: {each.refusal}")
            continue
        p = each.prediction
        change = p.period_s / base.period_s - 1
        console.print(
            f"    +{each.text}: {seconds(p.period_s)} ({change:+.1%}), peak "
            f"{data(p.peak_memory_bytes)} ({data(base.peak_memory_bytes)} before)"
        )


def show_scaling(console: Terminal, points: list[ScalingPoint], takeover: int | None) -> None:
    """Print the step over increasing numbers of GPUs."""
    console.print("  scaling: GPUs, step, efficiency, communication's share")
    for each in points:
        share = each.prediction.shares["communication"]
        console.print(
            f"    {each.gpus:>6}  {seconds(each.prediction.period_s):>9}  {each.efficiency:6.1%}  "
            f"{share:.0%}"
        )
    where = f"the largest share from {takeover} GPUs up" if takeover else "never the largest share"
    console.print(f"    communication is {where}")
