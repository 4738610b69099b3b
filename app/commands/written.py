"""The options that name files to write, and the writing of results to them.

The writers are imported when a command writes: the help does not need them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.option_types import ThemeName

if TYPE_CHECKING:
    from app.drawing import Drawing, Metrics


@dataclass(frozen=True)
class Written:
    """The files to write; None for each file that is not requested."""

    json: str | None = None
    csv: str | None = None
    png: str | None = None
    svg: str | None = None
    theme: str = "dark"

    def check(self, **others: str | None) -> None:
        """Check all targets before the work starts. Raises InputError if one is not writable."""
        from app import outputs

        texts = {"--json": self.json, "--csv": self.csv}
        texts |= {f"--{name.replace('_', '-')}": path for name, path in others.items()}
        pictures = {"--png": self.png, "--svg": self.svg}
        outputs.check_all(texts, pictures)
        if self.png:
            from app.widgets.qt_installed import need_qt

            need_qt(instead=", or use --svg")

    def write(
        self,
        document: Callable[[], Mapping[str, Any]],
        as_csv: Callable[[], str],
        page: Callable[[Metrics], Drawing],
    ) -> None:
        """Write the requested files: the document as JSON, rows as CSV, the page as pictures."""
        from app import outputs

        if self.json:
            from app.report.exports import json_text

            outputs.write("--json", self.json, json_text(document()))
        if self.csv:
            outputs.write("--csv", self.csv, as_csv())
        if self.png or self.svg:
            from app.widgets.drawing import put

            put(self, page)

    @property
    def printed(self) -> bool:
        """Whether standard output is free for the tables."""
        return "-" not in (self.json, self.csv)


def written(
    json: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write the full result as JSON.")
    ] = None,
    csv: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Write one row per result.")
    ] = None,
    png: Annotated[str | None, typer.Option(metavar="FILE", help="Draw a PNG.")] = None,
    svg: Annotated[str | None, typer.Option(metavar="FILE", help="Draw an SVG.")] = None,
    theme: Annotated[ThemeName, typer.Option(help="Theme of the picture.")] = ThemeName.dark,
) -> Written:
    """Collect the files that the shared options name."""
    return Written(json, csv, png, svg, theme.value)
