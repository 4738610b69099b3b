"""The diffs of CONTRIBUTING.md apply to this tree, and what they add works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DIFFS = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
ADDED = """
import app.plots.by_family
from app.lessons import lessons
from simulator.costs import COSTS
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.lowering.registry import RULES
from simulator.whatif import whatifs
from tests.simulator.costs.test_copies import test_jagged_rows_are_padded

test_jagged_rows_are_padded()
print(COSTS["aten._jagged_to_padded_dense_forward.default"].__module__)
print(RULES["fill"].__module__)
print(gpu("my_gpu").name, gpu("my_gpu").unsourced)
print(host("my-host").cpu)
print([each.name for each in whatifs() if each.name == "units"])
found, refused = lessons()
print([lesson.title for lesson in found if lesson.title == "Half the bytes"], refused)
"""


def apply(diff: str, root: Path, *options: str) -> None:
    done = subprocess.run(
        ["git", "apply", *options, "-"], cwd=root, input=diff, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("diff", DIFFS, ids=lambda diff: diff.split()[3])
def test_a_diff_applies(diff: str) -> None:
    apply(diff, ROOT, "--check")


def test_there_is_one_for_each_kind_of_extension() -> None:
    assert len(DIFFS) == 7


def test_the_changed_tree_has_what_the_diffs_add(tmp_path: Path) -> None:
    for folder in ("app", "simulator", "tests"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for diff in DIFFS:
        apply(diff, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", ADDED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "simulator.costs.movement.slices",
        "simulator.lowering.fills",
        "My GPU ()",
        "AMD EPYC, 32 cores; Python 3.12, torch 2.11",
        "['units']",
        "['Half the bytes'] ()",
    ]
