"""`ridgepoint export-kernel`: a fused group as a Triton kernel in a file, to check the prediction.

Modules of the simulator are imported when the command runs: the help does not need them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from app.commands.option_types import Top
from app.commands.options import Question, expanded
from simulator.errors import InputError


@expanded
def export_kernel(
    question: Question,
    group: Annotated[
        str | None,
        typer.Option(metavar="N|NAME", help="The group to export; if omitted, list the groups."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE|-", help="The file to write.", show_default="kernel.py"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    top: Top = 12,
) -> None:
    """Export a fused group as a Triton kernel, with a torch reference, a check and a benchmark."""
    from app import outputs, progress
    from app.report import exported
    from app.terminal import Terminal
    from simulator.kernel_source import find
    from simulator.scenario.resolve import resolve

    target = output or "kernel.py"
    if group is None and output is not None:
        raise InputError(
            f"--output {output} without --group: expected a group's number or name; remove "
            "--output to list the groups"
        )
    if group is not None:
        outputs.check("--output", target)
        if not force and target != outputs.STDOUT and Path(target).exists():
            raise InputError(
                f"--output {target}: the file exists and may hold your changes: expected a new "
                "name; choose another, or add --force to overwrite it"
            )
    scenario = question.scenario
    if scenario.mode == "eager" and not resolve(scenario).fusion:
        scenario = replace(scenario, mode="compiled")  # an eager step has no fused groups
    with progress.shown() as step:
        compiled = exported.step(scenario, step)
        groups = exported.listed(compiled)
        text = exported.text(compiled, find(groups, group), step) if group is not None else ""
    if group is not None:
        outputs.write("--output", target, text)
        if target != outputs.STDOUT:
            typer.echo(
                f"{target}: run it on a machine with a GPU, or with TRITON_INTERPRET=1 --check"
            )
        return
    exported.show(Terminal(highlight=False), groups, top)
