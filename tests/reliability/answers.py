"""The file of a long run's answers: a line of JSON for each case, appended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def answered(path: Path) -> dict[str, dict[str, Any]]:
    """The answers of earlier runs by their key; a truncated line is skipped."""
    answers: dict[str, dict[str, Any]] = {}
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        answers[answer["key"]] = answer
    return answers
