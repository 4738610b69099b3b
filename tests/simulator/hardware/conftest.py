"""Fixtures for tests of GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of the user's GPUs, so that a developer's own files do not change what is
    tested."""
    folder = tmp_path / "gpus"
    folder.mkdir()
    monkeypatch.setenv("RIDGEPOINT_GPUS", str(folder))
    return folder
