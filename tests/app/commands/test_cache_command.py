"""The traces of commands on disk are stored, shown and cleared, and a damaged trace is reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from simulator.formats.trace_folder import TRACE_FOLDER
from simulator.scenario import trace_source
from tests.app.conftest import Run

NET = """from torch import nn, zeros
def make():
    return nn.Linear(8, 4), (zeros(3, 8),)
"""


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RIDGEPOINT_TRACES", str(tmp_path / "traces"))
    (tmp_path / "net.py").write_text(NET)
    trace_source.forget()
    return f"{tmp_path / 'net.py'}:make"


def test_the_second_prediction_of_a_file_does_not_import_torch(net: str, run: Run, tmp_path: Path):
    first = run("predict", net)
    assert first.exit_code == 0 and TRACE_FOLDER.path is None
    code = (
        f"import sys\nfrom app.cli import app\napp(['predict', {net!r}], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    (tmp_path / "net.py").write_text(NET.replace("8", "16"))
    trace_source.forget()
    assert run("predict", net).exit_code == 0
    assert len(list((tmp_path / "traces").glob("*.trace"))) == 2


def test_the_second_prediction_on_a_cluster_does_not_import_torch(
    net: str, run: Run, tmp_path: Path
):
    command = ["predict", "mlp-tiny", "--train", "--cluster", "2xh200", "--parallel", "fsdp"]
    first = run(*command)
    assert first.exit_code == 0, first.output
    assert len(list((tmp_path / "traces").glob("*.rank"))) == 1
    code = (
        f"import sys\nfrom app.cli import app\napp({command!r}, standalone_mode=False)\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=300, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == first.stdout


def test_the_cache_is_shown_and_cleared(net: str, run: Run, tmp_path: Path):
    run("predict", net)
    folder = tmp_path / "traces"
    (folder / "other.txt").write_text("not ours")
    shown = run("cache").output.splitlines()
    assert [line.split()[0] for line in shown] == ["folder", "traces", "size", "oldest"]
    assert shown[0].endswith(str(folder)) and shown[1] == "traces   2 files"
    assert run("cache", "clear").output == f"{folder}: 2 files deleted, 0.0 MB.\n"
    assert [path.name for path in folder.iterdir()] == ["other.txt"]


def test_without_a_cache(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RIDGEPOINT_TRACES", "off")
    assert run("cache").output == "The trace cache is off: RIDGEPOINT_TRACES is 'off'.\n"


def test_a_damaged_trace_is_reported_and_replaced(net: str, run: Run, tmp_path: Path):
    run("predict", net)
    (path,) = (tmp_path / "traces").glob("*.trace")
    path.write_bytes(path.read_bytes()[:-9])
    trace_source.forget()
    again = run("predict", net)
    assert again.exit_code == 0
    assert f"note: {path} was damaged: its network was traced again\n" in again.stderr
    trace_source.forget()
    assert "damaged" not in run("predict", net).stderr
