"""Run calibration in a separate process: the app shares only data files with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from app.charts.accuracy import accuracy_page
from app.commands.written import Written
from app.outputs import STDOUT
from app.widgets.drawing import put
from simulator.errors import InputError
from simulator.hardware.gpu import gpu

ROOT = Path(__file__).parents[2]


def run(arguments: Sequence[str]) -> int:
    """Run `python -m calibration` with these arguments and return its exit status. Ctrl-C also
    interrupts that process, which reports its saved measurements before it ends. Raises InputError
    if calibration is not installed.
    """
    if not (ROOT / "calibration" / "__main__.py").is_file():
        raise InputError(
            f"no folder `calibration` in {ROOT}: expected a clone of Ridgepoint; install it from "
            "one: pip install -e ."
        )
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # -P: do not run a folder `calibration` in the user's working directory instead
    command = [sys.executable, "-P", "-m", "calibration", *arguments]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path})
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:
            continue
    return status if status >= 0 else 128 - status


def validated(flags: Sequence[str], files: Written) -> int:
    """Run the validation, and write or draw its outcomes. Raises InputError if a file cannot be
    written."""
    if files.json == STDOUT:
        raise InputError("--json -: expected a file name, because the tables go there; name a file")
    files.check()
    if not (files.png or files.svg):
        return run(["validate", *flags, *(("--json", files.json) if files.json else ())])
    with tempfile.TemporaryDirectory() as folder:
        outcomes = files.json or str(Path(folder) / "outcomes.json")
        status = run(["validate", *flags, "--json", outcomes])
        if status:
            return status
        rows = json.loads(Path(outcomes).read_text("utf-8"))
    put(files, lambda metrics: accuracy_page(rows, gpu("h200"), metrics))
    return 0
