"""Calibration runs in a separate process, with unchanged arguments."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.commands import calibrate

Run = Callable[..., Any]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were started; each ends with status 3."""
    commands: list[list[str]] = []

    class Process:
        def __init__(self, command: list[str], env: dict[str, str]) -> None:
            commands.append(command)
            assert str(ROOT) in env["PYTHONPATH"].split(os.pathsep)

        def wait(self) -> int:
            return 3

    monkeypatch.setattr(calibrate.subprocess, "Popen", Process)
    return commands


@pytest.mark.parametrize(
    ("typed", "passed"),
    [
        (
            ["calibrate", "measure", "a folder", "--quick", "--only=x|y", "--seconds", "4"],
            ["measure", "a folder", "--quick", "--only=x|y", "--seconds", "4"],
        ),
        (["calibrate", "fit"], ["fit"]),
        (["calibrate"], ["--help"]),
        (["calibrate", "measure", "-h"], ["measure", "-h"]),
        (["validate"], ["validate"]),
        (["validate", "--write", "--json", "f"], ["validate", "--write", "--json", "f"]),
    ],
)
def test_arguments_go_through(
    run: Run, started: list[list[str]], typed: list[str], passed: list[str]
) -> None:
    assert run(*typed).exit_code == 3
    assert started == [[sys.executable, "-P", "-m", "calibration", *passed]]


def test_a_refusal_of_calibration_is_returned(tmp_path: Path) -> None:
    (tmp_path / "calibration.py").write_text("raise SystemExit('the wrong one')")
    result = subprocess.run(
        [sys.executable, "-m", "app.cli", "calibrate", "measure", "--speed"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )
    assert result.returncode == 2 and "unknown: --speed" in result.stderr
    assert "the wrong one" not in result.stderr


def test_a_killed_process_gives_a_shells_status(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.waits = 0

        def wait(self) -> int:
            self.waits += 1
            # Ctrl-C reaches both processes; the calibration then reports what it saved
            if self.waits < 3:
                raise KeyboardInterrupt
            return -signal.SIGKILL

    monkeypatch.setattr(calibrate.subprocess, "Popen", Killed)
    assert calibrate.run(["measure"]) == 137


def test_without_calibration(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(calibrate, "ROOT", tmp_path)
    result = run("validate")
    assert result.exit_code == 2
    assert f"no folder `calibration` in {tmp_path}: expected a clone" in result.stderr


def test_the_help_starts_nothing() -> None:
    code = "import sys, app.cli, app.commands.calibrate; sys.exit('calibration' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
