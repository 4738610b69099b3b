"""`ridgepoint plan`: the GPU, the number of GPUs and the cost for a load and its limits.

Modules of the simulator and of the reports are imported when the command runs: the help does not
need them.
"""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.cores import cores
from app.commands.option_types import ThemeName
from simulator.errors import InputError

Target = "FILE|-"


def plan(
    spec: Annotated[
        str,
        typer.Argument(
            metavar="SPEC.toml",
            help="The plan: workload, load, limits, candidates, prices (docs/planning.md), or its "
            "link.",
        ),
    ],
    json: Annotated[
        str | None, typer.Option(metavar=Target, help="Write the full result as JSON, in SI units.")
    ] = None,
    csv: Annotated[
        str | None, typer.Option(metavar=Target, help="Write one row per candidate.")
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(metavar=Target, help="Write one HTML page with the pictures of the app."),
    ] = None,
    svg: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw cost against speed as SVG.")
    ] = None,
    theme: Annotated[ThemeName, typer.Option(help="Theme of the picture.")] = ThemeName.dark,
    top: Annotated[int, typer.Option(min=1, help="Rows to print.")] = 15,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 means one per core.")] = 0,
) -> None:
    """Choose GPUs for a load and its limits: a verdict, a ranked table, the assumptions.

    The exit status is 2 if no candidate can carry the load.
    """
    from app import outputs, progress
    from app.html.plan import plan_page, plan_svg
    from app.report import plan as report
    from app.theme import theme as theme_of
    from simulator.planning import plan as run
    from simulator.planning.spec_file import read

    targets = {"--json": json, "--csv": csv, "--html": html}
    outputs.check_all(targets, {"--svg": svg})
    colours = theme_of(theme.value)
    with progress.shown() as step:
        step("reading the plan")
        question = read(spec)
        answer = run(question, workers=workers or cores(), progress=step)
    texts = {
        "--json": answer.to_json,
        "--csv": lambda: report.as_csv(answer),
        "--html": lambda: plan_page(question, answer),
    }
    for option, target in targets.items():
        if target:
            outputs.write(option, target, texts[option]())
    if svg:
        outputs.write("--svg", svg, plan_svg(question, answer, colours))
    if outputs.STDOUT not in targets.values():
        report.show(answer, top)
    if not answer.carried:
        lead = answer.verdict.removesuffix(".")
        raise InputError(lead[:1].lower() + lead[1:])
