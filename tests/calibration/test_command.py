"""The commands of `python -m calibration`."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calibration import __main__ as command
from calibration.measure.log import read
from simulator.errors import InputError

ROOT = Path(__file__).parents[2]


def test_measuring_the_host_needs_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "calibration.measure.instruments.host_index.suite",
        lambda gpu: {"views@cpu": 2e-6, "gpu": gpu},
    )
    for _ in range(2):
        command.run(["measure", str(tmp_path), "--host-only"])
    parsed = read(tmp_path / "host.jsonl")
    assert parsed.header["gpu"] is None and "logical cores" in parsed.header["cpu"]
    assert [p["host_index"]["views@cpu"] for p in parsed.processes] == [2e-6, 2e-6]
    assert [p["host_index"]["gpu"] for p in parsed.processes] == [False, False]
    assert "2.0 µs  views@cpu" in capsys.readouterr().err


def test_fit_and_validate_pass_their_options_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    fake = SimpleNamespace(main=lambda: seen.append([*sys.argv]))
    for name in ("fit.host", "fit.gpu", "fit.folder", "validate.report"):
        monkeypatch.setitem(sys.modules, f"calibration.{name}", fake)
    before = [*sys.argv]
    command.run(["fit"])
    command.run(["fit", "a folder"])
    command.run(["validate", "--write", "--json", "a file"])
    assert seen == [
        ["fit.host"],
        ["fit.gpu"],
        ["fit.folder", "a folder"],
        ["validate.report", "--write", "--json", "a file"],
    ]
    monkeypatch.setattr(command, "measure", lambda options: seen.append([str(options.folder)]))
    seen.clear()
    command.run(["all", "here", "--quick"])
    assert seen == [["here"], ["fit.folder", "here"], ["validate.report"]]
    assert sys.argv == before


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(name="msgspec")

    monkeypatch.setattr("importlib.import_module", absent)
    with pytest.raises(InputError, match=r"fit.host needs the package msgspec, .*copy the meas"):
        command.run(["fit"])


@pytest.mark.parametrize("arguments", [["measure", "--speed"], ["measure", "--seconds", "-1"], []])
def test_wrong_options(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command.run(arguments)
    assert caught.value.code == 2
    assert re.search(
        r"unknown: --speed|expected a number of seconds above 0|COMMAND", capsys.readouterr().err
    )


INTERRUPTED = """
import signal, sys, time
from calibration import __main__ as command
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
def measure(options):
    print("go", flush=True)
    time.sleep(60)
command.measure = measure
sys.argv = ["calibration", "measure"]
command.main()
"""


def test_ctrl_c_ends_cleanly() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "all samples so far are kept" in message and "Traceback" not in message
