"""Calibration runs in a separate process, with unchanged arguments."""

import json
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
        (
            ["validate", "--write", "--json", "f", "--all"],
            ["validate", "--all", "--write", "--json", "f"],
        ),
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


def test_the_help_of_validate_lists_its_options(run: Run) -> None:
    words = " ".join(run("validate", "--help").stdout.split())
    for option in ("--all", "--json FILE", "--png FILE", "--svg FILE", "--theme <dark|light>"):
        assert option in words
    assert (
        "--write For developers, in a clone: write the tables into docs/accuracy.md and README.md."
    ) in words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--json", "-"], "--json -: expected a file name, because the tables go there"),
        (["--png", "no/p.png"], "--png no/p.png: no folder"),
        (["--png", "p.svg"], "--png p.svg: ends in .svg: expected .png"),
        (["--speed"], "--speed"),
    ],
)
def test_wrong_options_of_validate_start_nothing(
    run: Run, started: list[list[str]], options: list[str], message: str
) -> None:
    result = run("validate", *options)
    assert result.exit_code == 2 and message in result.stderr
    assert started == []


def test_a_picture_leaves_the_requested_outcomes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = {"figure": "period", "group": "training, eager", "flops": 0, "bytes": 0}
    call = {"figure": "gemm", "group": "single ops, cold", "flops": 1e12, "bytes": 1e9}
    rows = [{**each, "measured_s": 2e-3, "ratio": 1.1} for each in (step, call)]

    def validated(arguments: list[str]) -> int:
        Path(arguments[-1]).write_text(json.dumps(rows))
        return 0

    monkeypatch.setattr(calibrate, "run", validated)
    outcomes, svg = tmp_path / "o.json", tmp_path / "p.svg"
    assert run("validate", "--json", outcomes, "--svg", svg).exit_code == 0
    assert json.loads(outcomes.read_text()) == rows
    assert "1 periods of steps and 1 calls on an H200 SXM 141GB" in svg.read_text("utf-8")
