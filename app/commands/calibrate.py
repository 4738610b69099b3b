"""Calibration as a process of its own: the app knows no CUDA, and meets it in data files alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from simulator.errors import InputError

ROOT = Path(__file__).parents[2]


def run(arguments: Sequence[str]) -> int:
    """Run `python -m calibration` with these arguments; its exit status.

    Ctrl-C reaches the process too, which ends by itself and says what was kept. InputError where
    calibration is not installed.
    """
    if not (ROOT / "calibration" / "__main__.py").is_file():
        raise InputError(
            f"calibration is not installed beside this app, in {ROOT}: expected all of Ridgepoint; "
            "install it again, from its own folder: pip install -e ."
        )
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # -P: a folder `calibration` of the user's own must not be run in its stead
    command = [sys.executable, "-P", "-m", "calibration", *arguments]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path})
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:
            continue
    return status if status >= 0 else 128 - status


def drawn(arguments: Sequence[str], png: Path | None, svg: Path | None, theme: str) -> int:
    """Run the validation, and draw its outcomes."""
    from app.plots.accuracy import AccuracyPicture
    from app.theme import theme as themed
    from app.widgets.drawing import application
    from simulator.hardware.gpu import gpu

    look = themed(theme)
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder) / "outcomes.json"
        status = run(["validate", *arguments, "--json", str(outcomes)])
        if status:
            return status
        rows = json.loads(outcomes.read_text())
    application()
    AccuracyPicture(look, rows, gpu("h200")).write(png, svg)
    return 0
