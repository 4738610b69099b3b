"""Folders and files stay small enough to read at a glance, and names of test files are unique."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOPS = ("app", "simulator", "calibration", "docs", "tests", "examples")
MODULES = sorted(path for top in TOPS for path in (ROOT / top).rglob("*.py"))


@pytest.mark.parametrize("top", TOPS)
def test_a_folder_has_at_most_25_modules(top: str) -> None:
    counts = Counter(path.parent for path in MODULES if path.is_relative_to(ROOT / top))
    assert {folder: count for folder, count in counts.items() if count > 25} == {}


def test_a_module_has_at_most_300_lines() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > 300} == {}


def test_names_of_test_files_are_unique_among_folders_without_init() -> None:
    """pytest imports such a file by its name alone."""
    names = Counter(
        path.name
        for path in MODULES
        if path.name.startswith("test_") and not (path.parent / "__init__.py").exists()
    )
    assert [name for name, count in names.items() if count > 1] == []
