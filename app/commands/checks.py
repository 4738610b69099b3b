"""`ridgepoint calibrate`, `validate` and `doctor`.

Their modules are imported when a command runs: the help does not need them.
"""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.written import Written


def calibrate(ctx: typer.Context) -> None:
    """Calibrate a GPU and its host: measure, fit, validate or all."""
    from app.commands.calibrate import run

    raise typer.Exit(run(ctx.args or ["--help"]))


def validate(
    ctx: typer.Context,
    png: Annotated[
        str | None, typer.Option(help="Draw predictions and measurements as PNG.")
    ] = None,
    svg: Annotated[
        str | None, typer.Option(help="Draw predictions and measurements as SVG.")
    ] = None,
    theme: Annotated[str, typer.Option(help="Theme of the picture: dark or light.")] = "dark",
) -> None:
    """Compare predictions with recorded measurements; needs no GPU."""
    from app.commands.calibrate import drawn, run

    if png is None and svg is None:
        raise typer.Exit(run(["validate", *ctx.args]))
    raise typer.Exit(drawn(ctx.args, Written(png=png, svg=svg, theme=theme)))


def doctor() -> None:
    """Check the installation: print the versions, and try each part."""
    from app.commands.doctor import examine

    raise typer.Exit(0 if examine() else 1)
