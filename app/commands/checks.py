"""`ridgepoint calibrate`, `validate` and `doctor`.

Their modules are imported when a command runs: the help does not need them.
"""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.option_types import ThemeName
from app.commands.written import Written


def calibrate(ctx: typer.Context) -> None:
    """Calibrate a GPU and its host: measure, fit, validate or all."""
    from app.commands.calibrate import run

    raise typer.Exit(run(ctx.args or ["--help"]))


def validate(
    every: Annotated[
        bool, typer.Option("--all", help="Print every case, not only the worst 20.")
    ] = False,
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write every outcome as JSON.")
    ] = None,
    png: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw the H200's steps and calls as PNG.")
    ] = None,
    svg: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw the H200's steps and calls as SVG.")
    ] = None,
    theme: Annotated[ThemeName, typer.Option(help="Theme of the picture.")] = ThemeName.dark,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="For developers, in a clone: write the tables into docs/accuracy.md and "
            "README.md.",
        ),
    ] = False,
) -> None:
    """Compare predictions with recorded measurements; needs no GPU.

    Takes about two minutes. Prints the errors by kind of step, when and on which hosts the steps
    were measured, and the cases that are furthest off.
    """
    from app.commands.calibrate import validated

    files = Written(json=json, png=png, svg=svg, theme=theme.value)
    flags = [flag for flag, given in (("--all", every), ("--write", write)) if given]
    raise typer.Exit(validated(flags, files))


def doctor() -> None:
    """Check the installation: print the versions, and try each part."""
    from app.commands.doctor import examine

    raise typer.Exit(0 if examine() else 1)
