"""`ridgepoint whatifs`: every what-if with its controls, from its signature and docstring.

Modules of the simulator and of the reports are imported when the command runs: the help does not
need them.
"""

from __future__ import annotations

from typing import Annotated

import typer


def whatifs(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show only this one.")] = None,
    json: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write the list as JSON.")
    ] = None,
) -> None:
    """List the what-ifs with their parameters and bounds."""
    from app import outputs
    from app.report import whatifs as report
    from app.report.exports import json_text
    from simulator.scenario.registry import named
    from simulator.whatif import whatifs as every

    outputs.check("--json", json)
    listed = [named(name.removeprefix("+").replace("-", "_"))] if name else list(every())
    if json:
        outputs.write("--json", json, json_text(report.document(listed)))
    if json != outputs.STDOUT:
        report.show(listed)
