"""The files that a user's network imports."""

from __future__ import annotations

from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import pytest

from simulator.symbols import sources


def test_a_module_that_many_files_import_is_looked_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"part{number}" for number in range(20)]
    text = "\n".join(f"import {name}" for name in names)
    for name in ("network", *names):
        (tmp_path / f"{name}.py").write_text(text)
    looked_up: list[str] = []

    class Finder:
        @staticmethod
        def find_spec(name: str, path: list[str]) -> ModuleSpec | None:
            looked_up.append(name)
            return PathFinder.find_spec(name, path)

    monkeypatch.setattr(sources, "PathFinder", Finder)
    digests = sources.source_digests(tmp_path / "network.py")
    assert sorted(digests) == sorted(f"{name}.py" for name in ("network", *names))
    assert sorted(looked_up) == sorted(names)
