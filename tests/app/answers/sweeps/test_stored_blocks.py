"""Blocks of combinations outlive the process; a changed file or a damaged one is not used."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.answers.sweeps import stored_blocks
from app.answers.sweeps.combinations import Known, combine
from app.answers.sweeps.stored_blocks import StoredBlocks, name_of
from simulator.formats.trace_folder import FOLDER_VARIABLE, TRACE_FOLDER
from simulator.hardware.gpu import PACKAGED
from simulator.scenario.scenario import Scenario

TINY = Scenario("mlp-tiny")
AXES = {"batch": (1, 2, 4), "gpu": ("h200", "l40s"), "bandwidth": (1.0, 2.0)}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before, TRACE_FOLDER.path = TRACE_FOLDER.path, tmp_path / "traces"
    yield tmp_path / "traces"
    TRACE_FOLDER.path = before


def predicted() -> Known:
    known: Known = {}
    combine(TINY, AXES, lambda: None, known=known)
    return known


def test_blocks_read_again_give_the_same_table(folder: Path):
    known = predicted()
    StoredBlocks("a" * 64).write(known)
    again = StoredBlocks("a" * 64).read()
    assert list(again) == list(known)
    for key, block in known.items():
        np.testing.assert_array_equal(again[key].table, block.table)
        assert again[key].refused == block.refused
    swept: list[int] = []
    whole = combine(TINY, AXES, lambda: None, lambda part: swept.append(part.missing), again)
    first = combine(TINY, AXES, lambda: None, known=known)
    assert whole.missing == 0 and swept == []
    for name, column in first.columns.items():
        np.testing.assert_array_equal(whole.columns[name], column)


@pytest.mark.parametrize("damage", ["torn", "changed", "other"])
def test_a_damaged_file_is_not_used_and_then_replaced(folder: Path, damage: str):
    known = predicted()
    StoredBlocks("b" * 64).write(known)
    path = folder / f"{'b' * 64}.blocks"
    content = bytearray(path.read_bytes())
    if damage == "changed":
        content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content[:100]) if damage == "torn" else bytes(content))
    if damage == "other":
        path.write_bytes(b"\x80\x04pickled")
    stored = StoredBlocks("b" * 64)
    assert stored.read() == {}
    stored.write(known)
    assert len(StoredBlocks("b" * 64).read()) == len(known)


def test_unfinished_blocks_are_written_every_two_seconds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    now = [100.0]
    monkeypatch.setattr(stored_blocks.time, "monotonic", lambda: now[0])
    stored, known = StoredBlocks("c" * 64), predicted()
    stored.write(known, at_once=False)
    assert not StoredBlocks("c" * 64).read()
    now[0] += 2.0
    stored.write(known, at_once=False)
    assert len(StoredBlocks("c" * 64).read()) == len(known)


def test_nothing_is_stored_while_traces_are_not(folder: Path):
    TRACE_FOLDER.path = None
    stored = StoredBlocks("d" * 64)
    stored.write(predicted())
    assert stored.read() == {} and not folder.exists()


def test_the_name_follows_what_the_figures_depend_on(tmp_path: Path):
    card, network = tmp_path / "own.toml", tmp_path / "net.py"
    card.write_text((PACKAGED / "l40s.toml").read_text())
    network.write_text("def make(): ...\n")
    own = replace(TINY, gpu=str(card))
    module = replace(TINY, network=f"{network}:make")
    names = [name_of("q", own, {"batch": (1,)}), name_of("q", module, {"batch": (1,)})]
    # the name does not depend on the values, which the block holds
    assert name_of("q", own, {"batch": (1, 2)}) == names[0]
    assert name_of("q", own, {"batch": (1,), "mode": ("eager",)}) != names[0]
    assert name_of("other", own, {"batch": (1,)}) != names[0]
    card.write_text(card.read_text() + "# edited\n")
    network.write_text("def make(): return 1\n")
    assert name_of("q", own, {"batch": (1,)}) != names[0]
    assert name_of("q", module, {"batch": (1,)}) != names[1]


_CHILD = """
import sys
from app.answers.side import Side
from app.answers.sweeps import combinations
from app.scenes.combinations.table import combined
from app.scenes.sweep.curves import CancelledError
from app.time_left import RUNNING, Running
from simulator.scenario import trace_source
from simulator.scenario.scenario import Scenario, predict
trace_source.keep_on_disk()
swept, sweep = [], combinations.sweep
combinations.sweep = lambda *a, **k: swept.append(1) or sweep(*a, **k)
s = Scenario("mlp-tiny")
names = ["batch", "gpu", "mode", "host_speed", "bandwidth"]
try:
    table = combined(Side("A", "", s, predict(s)), names, lambda: len(swept) >= int(sys.argv[1]))
    print(len(swept), len(table))
except CancelledError:
    print(len(swept), "cancelled")
"""


def test_a_process_continues_where_another_was_cancelled(tmp_path: Path):
    def run(most: int) -> str:
        words = [sys.executable, "-c", _CHILD, str(most)]
        places = {**os.environ, FOLDER_VARIABLE: str(tmp_path / "traces")}
        child = subprocess.run(words, capture_output=True, text=True, check=True, env=places)
        return child.stdout.strip()

    assert run(3) == "3 cancelled"
    swept, rows = map(int, run(99).split())
    assert (swept, rows) == (4, 1728)
    assert run(99) == "0 1728"
