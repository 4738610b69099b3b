"""Networks whose code reads the clock, random numbers or data files are not cached, and a note
reports this; a changed cache file is not trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.isolated import ISOLATION
from simulator.scenario import trace_source
from tests.app.conftest import Run

NET = """import random, time
from pathlib import Path
from torch import nn, zeros
def make():
    return nn.Linear(8, {width}), (zeros(3, 8),)
"""


def net(folder: Path, width: str) -> str:
    (folder / "net.py").write_text(NET.format(width=width))
    trace_source.forget()
    return f"{folder / 'net.py'}:make"


@pytest.fixture
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RIDGEPOINT_TRACES", str(tmp_path / "traces"))
    return tmp_path / "traces"


@pytest.mark.parametrize(
    "width", ["time.perf_counter_ns() % 99_991 + 1", "random.getrandbits(24) + 1"]
)
def test_a_network_that_differs_from_run_to_run_is_not_stored(
    tmp_path: Path, traces: Path, run: Run, width: str
) -> None:
    network = net(tmp_path, width)
    first = run("predict", network)
    assert first.exit_code == 0
    note = (
        f"note: the traces of {network} are not stored: two traces differ: its code may read the "
        "clock or random numbers\n"
    )
    assert first.stderr.count(note) == 1
    assert not list(traces.glob("*"))
    assert "note:" not in run("predict", network).stderr  # reported once


def test_a_network_that_reads_a_data_file_is_not_stored(
    tmp_path: Path, traces: Path, run: Run
) -> None:
    data = tmp_path / "width.txt"
    network = net(tmp_path, f"int(Path({str(data)!r}).read_text())")
    ISOLATION.begin()
    try:
        for width in ("16", "4096"):
            data.write_text(width)
            trace_source.forget()
            answer = run("predict", network, "--json", "-")
            assert answer.exit_code == 0, answer.output
            assert f'"flops": {2 * 3 * 8 * int(width)}' in answer.stdout.replace(".0", "")
    finally:
        ISOLATION.end()
    assert not list(traces.glob("*"))


@pytest.mark.parametrize("suffix", ["egg-info", "dist-info"])
def test_a_description_of_a_package_is_not_a_data_file(
    tmp_path: Path, traces: Path, run: Run, suffix: str
) -> None:
    """Imports read it if the current folder is a source tree, to list the plugins of packages."""
    described = tmp_path / f"own.{suffix}" / "entry_points.txt"
    described.parent.mkdir()
    described.write_text("16")
    network = net(tmp_path, f"int(Path({str(described)!r}).read_text())")
    ISOLATION.begin()
    try:
        assert "note:" not in run("predict", network).stderr
    finally:
        ISOLATION.end()
    assert len(list(traces.glob("*.trace"))) == 1


def test_a_steady_network_is_stored_and_a_changed_trace_is_traced_again(
    tmp_path: Path, traces: Path, run: Run
) -> None:
    network = net(tmp_path, "16")
    first = run("predict", network)
    (stored,) = traces.glob("*.trace")
    for place in (40, len(stored.read_bytes()) // 2, -1):
        content = bytearray(stored.read_bytes())
        content[place] ^= 1
        stored.write_bytes(content)
        trace_source.forget()
        again = run("predict", network)
        assert f"note: {stored} was damaged: its network was traced again\n" in again.stderr
        assert again.stdout == first.stdout


def test_a_file_that_one_network_reads_is_not_charged_to_another(
    tmp_path: Path, traces: Path, run: Run
) -> None:
    (tmp_path / "width.txt").write_text("16")
    network = net(tmp_path, f"int(Path({str(tmp_path / 'width.txt')!r}).read_text())")
    (tmp_path / "other.py").write_text(NET.format(width=24))
    other = f"{tmp_path / 'other.py'}:make"
    ISOLATION.begin()
    try:
        notes = [run("predict", each).stderr.count("are not stored") for each in (network, other)]
    finally:
        ISOLATION.end()
    assert notes == [1, 0]
    assert len(list(traces.glob("*.trace"))) == 1
