"""`ridgepoint split`: the fastest split of a network over a cluster, its what-ifs and scaling.

Modules of the simulator and of the reports are imported when the command runs: the help does not
need them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from app.commands.options import Question, expanded
from simulator.errors import InputError


@expanded
def split(
    question: Question,
    cluster: Annotated[
        str,
        typer.Option(
            "--cluster", metavar="CLUSTER", help="The GPUs: 8xh200, a cluster's id or a TOML file."
        ),
    ],
    parallel: Annotated[
        str | None,
        typer.Option(
            metavar="LAYOUT",
            help="The split for --what-ifs and --scaling; if omitted, the best one.",
        ),
    ] = None,
    what_ifs: Annotated[
        bool, typer.Option("--what-ifs", help="Show the step under each what-if of the cluster.")
    ] = False,
    scaling: Annotated[
        str | None,
        typer.Option(metavar="weak|strong", help="Show the step over 1, 2, 4 … replicas."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Splits to print.")] = 6,
) -> None:
    """Find the fastest split of a network over a cluster, under the memory limit.

    --batch is the total over all GPUs; with --parallel, that of each replica.
    """
    from app import progress
    from app.answers.cluster.choice import parallel_question, replica_words
    from app.report.split import show_effects, show_scaling, show_splits
    from app.terminal import Terminal
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
    batch = (
        f"batch {splits.best.batch:,} over all GPUs" if splits else replica_words(question.scenario)
    )
    words = ", ".join(filter(None, (one.cluster.name, batch)))
    console.print(f"[bold]{question.scenario.network} on {words}[/bold]")
    if splits:
        show_splits(console, splits, top)
    if base:
        show_effects(console, one.layout, base, effects)
    if points:
        show_scaling(console, points, whatifs.takeover(points))
