"""The checks of `python run.py test`: their order, and what ends them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

import run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of stand-ins that note their names and succeed at once."""
    for name in ("ruff", "lint-imports", "pyright", "pytest"):
        replace(tmp_path, name, "exit 0")
    monkeypatch.setattr(run, "BIN", tmp_path)
    monkeypatch.setattr(run, "HERE", tmp_path)
    return tmp_path


def replace(folder: Path, name: str, ending: str) -> None:
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "{name} $1" >> "{folder}/started"\n{ending}\n', "utf-8")
    path.chmod(0o755)


def started(folder: Path) -> list[str]:
    return (folder / "started").read_text("utf-8").splitlines()


def test_all_checks_run(tools: Path) -> None:
    assert run.test() == 0
    assert started(tools)[:3] == ["ruff format", "ruff check", "lint-imports "]
    assert sorted(started(tools)[3:]) == ["pyright ", "pytest -n"]


@pytest.mark.parametrize(("day", "given"), [((), "today"), (("2026-11-28",), "2026-11-28")])
def test_the_tests_are_those_of_a_day(tools: Path, day: tuple[str, ...], given: str) -> None:
    replace(tools, "pytest", f'printf "%s " "$@" > "{tools}/options"')
    assert run.test(*day) == 0
    assert (tools / "options").read_text("utf-8").endswith(f" --day {given} ")


def test_other_options_are_refused(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "install", lambda: None)
    monkeypatch.setattr(sys, "argv", ["run.py", "test", "--date", "2026-11-28"])
    with pytest.raises(SystemExit, match=r"error: test --date 2026-11-28: expected `test`, `test "):
        run.main()
    assert not (tools / "started").exists()


def test_a_failed_format_starts_nothing_else(tools: Path) -> None:
    replace(tools, "ruff", "exit 1")
    assert run.test() == 1 and started(tools) == ["ruff format"]


def test_wrong_types_end_the_tests(tools: Path) -> None:
    replace(tools, "pyright", "exit 3")
    replace(tools, "pytest", "exec sleep 60")
    began_s = time.monotonic()
    assert run.test() == 3
    assert time.monotonic() - began_s < 30


def test_a_failed_test_is_the_status_once_types_are_right(tools: Path) -> None:
    replace(tools, "pytest", "exit 5")
    assert run.test() == 5
