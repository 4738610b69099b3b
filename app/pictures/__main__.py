"""Write `report.svg` beside this file."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from app.answers.subject import Scenario, predict, subject
from app.progress import shown
from app.report.render import show

TITLE = "ridgepoint predict llama3-1b --batch 2 --seq 1024 --dtype bf16 --train"


def main() -> None:
    """Predict and draw."""
    scenario = Scenario(network="llama3-1b", batch=2, seq=1024, dtype="bf16", training=True)
    with shown() as step:
        traced = subject(scenario, step)
        p = predict(scenario, traced, step)
    console = Console(
        record=True, width=100, file=io.StringIO(), force_terminal=True, highlight=False
    )
    show(console, p, traced, 8)
    drawing = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title=TITLE), flags=re.DOTALL)
    drawing = drawing.replace("Fira Code", "DejaVu Sans Mono")  # no font is downloaded
    (Path(__file__).parent / "report.svg").write_text(drawing)


if __name__ == "__main__":
    main()
