"""`ridgepoint plan`: which GPU, how many and at what cost, for a load and its limits."""

from __future__ import annotations

import os
from typing import Annotated

import typer

Target = "FILE|-"


def plan(
    spec: Annotated[
        str,
        typer.Argument(
            metavar="SPEC.toml",
            help="The plan: workload, load, limits, candidates, prices (docs/planning.md).",
        ),
    ],
    json: Annotated[
        str | None, typer.Option(metavar=Target, help="Write the full result as JSON, in SI units.")
    ] = None,
    csv: Annotated[
        str | None, typer.Option(metavar=Target, help="Write one row per candidate.")
    ] = None,
    html: Annotated[str | None, typer.Option(metavar=Target, help="Write one HTML page.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Rows to print.")] = 15,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 means one per core.")] = 0,
) -> None:
    """Choose a GPU, how many and at what cost: a verdict, a ranked table, the assumptions."""
    from app import outputs, progress
    from app.report import plan as report
    from simulator.planning import plan as run

    targets = {"--json": json, "--csv": csv, "--html": html}
    outputs.check_all(targets, {})
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    with progress.shown() as step:
        step("reading the plan")
        answer = run(spec, workers=workers or cores, progress=step)
    texts = {
        "--json": answer.to_json,
        "--csv": lambda: report.csv_text(answer),
        "--html": lambda: report.html_text(answer),
    }
    for option, target in targets.items():
        if target:
            outputs.write(option, target, texts[option]())
    if outputs.STDOUT not in targets.values():
        report.show(answer, top)
