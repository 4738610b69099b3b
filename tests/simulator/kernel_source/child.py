"""`python child.py FOLDER`: checks exported files in a process that runs Triton's interpreter, and
prints a JSON object that maps each file's name to "" or to the error."""

from __future__ import annotations

import json
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path


def checked(path: Path) -> str:
    """The error of the file's own check, or ""."""
    try:
        with redirect_stdout(sys.stderr):
            runpy.run_path(str(path), run_name="exported")["check"]()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    files = sorted(Path(sys.argv[1]).glob("*.py"))
    print(json.dumps({path.stem: checked(path) for path in files}))
