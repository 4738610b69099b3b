"""The diffs of CONTRIBUTING.md apply to this tree."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DIFFS = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("diff", DIFFS, ids=lambda diff: diff.split()[3])
def test_a_diff_applies(diff: str) -> None:
    done = subprocess.run(
        ["git", "apply", "--check", "-"], cwd=ROOT, input=diff, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_there_is_one_for_each_kind_of_extension() -> None:
    assert len(DIFFS) == 7
