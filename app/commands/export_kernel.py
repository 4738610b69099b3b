"""`ridgepoint export-kernel`: a fused group as a Triton kernel in a file, to try the prediction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from app.commands.options import Question, Top, expanded


@expanded
def export_kernel(
    asked: Question,
    group: Annotated[
        str | None, typer.Option(metavar="N|NAME", help="Which one; without it, they are listed.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE|-", help="Where to.", show_default="kernel.py"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file.")] = False,
    top: Top = 12,
) -> None:
    """A fused group as a Triton kernel, with a torch reference, a check and a benchmark."""
    from app import outputs, progress
    from app.report import exported
    from simulator.errors import InputError
    from simulator.kernel_source import find
    from simulator.scenario.resolve import resolve

    target = output or "kernel.py"
    if group is None and output is not None:
        raise InputError(
            f"--output {output} without a group: expected --group with a number or a name; leave "
            "--output out to list them"
        )
    if group is not None:
        outputs.check("--output", target)
        if not force and target != outputs.STDOUT and Path(target).exists():
            raise InputError(
                f"--output {target}: there is such a file, which may have been worked on: expected "
                "a new name; choose another, or add --force to write over it"
            )
    wanted = asked.scenario
    if wanted.mode == "eager" and not resolve(wanted).fusion:
        wanted = replace(wanted, mode="compiled")  # nothing else is fused
    with progress.shown() as step:
        found = exported.step(wanted, step)
        groups = exported.listed(found)
        text = exported.text(found, find(groups, group), step) if group is not None else ""
    if group is not None:
        outputs.write("--output", target, text)
        if target != outputs.STDOUT:
            typer.echo(f"{target}: run it where there is a GPU, or with TRITON_INTERPRET=1 --check")
        return
    from app.terminal import Terminal

    exported.show(Terminal(highlight=False), groups, top)
