"""The command of a module that draws points."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from calibration.sweeps.registry import Point


def command(description: str, drawn: Iterable[Point]) -> None:
    """Write the points, each once, as JSON lines into the file that the command line names. The
    help shows the first paragraph of `description`."""
    parser = argparse.ArgumentParser(description=description.split("\n\n")[0])
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    lines = list(dict.fromkeys(json.dumps([p.operation, p.params]) for p in drawn))
    options.file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} points")
