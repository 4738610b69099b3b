"""The table of `tests/README.md`: each promise, its run, its figure and the day of the run."""

from __future__ import annotations

from datetime import date
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
_BEGIN, _END = "<!-- promises -->", "<!-- /promises -->"
_HEAD = ("| promise | run | figure | date |", "|---|---|---|---|")


def write(promise: str, command: str, figure: str, path: Path = README) -> None:
    """Put the figure of a run into its row of the table; a new promise gets a row at the end."""
    before, _, rest = path.read_text("utf-8").partition(_BEGIN)
    table, _, after = rest.partition(_END)
    rows = {line.split("|")[1].strip(): line for line in table.strip().splitlines()[2:]}
    rows[promise] = f"| {promise} | `{command}` | {figure} | {date.today().isoformat()} |"
    lines = "\n".join([_BEGIN, *_HEAD, *rows.values(), _END])
    path.write_text(f"{before}{lines}{after}", "utf-8")
