"""Processes of a sweep store traces where the process that runs the sweep stores them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.analysis.design.design import design
from simulator.analysis.design.engines import DesignTask, engine, task
from simulator.analysis.design.release import release
from simulator.analysis.design.rows_file import RowsFile
from simulator.analysis.design.run import run
from simulator.formats.trace_folder import FOLDER_VARIABLE, TRACE_FOLDER, usual_folder
from simulator.scenario.scenario import Scenario

ONE = design(Scenario("mlp-tiny"), {"batch": [8]})
OWN = """
import torch

class Own(torch.nn.Linear):
    def __init__(self): super().__init__(8, 8)
    def example_inputs(self, batch=1): return (torch.empty(batch, 8),)
"""


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start with no folder, as a worker of another machine does; restore the folder at the end."""
    before = TRACE_FOLDER.path
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    TRACE_FOLDER.close()
    yield
    TRACE_FOLDER.path = before


def test_a_task_takes_the_folder_of_the_process_that_created_it(tmp_path: Path):
    TRACE_FOLDER.keep(tmp_path)
    created = task(ONE)
    TRACE_FOLDER.close()
    created([0])
    assert TRACE_FOLDER.path == tmp_path


def test_a_machine_without_the_folder_takes_its_users_cache(tmp_path: Path):
    DesignTask(ONE, release(), traces=tmp_path / "of another machine")([0])
    assert TRACE_FOLDER.path == usual_folder()


def test_a_process_that_stores_nothing_has_workers_that_store_nothing(tmp_path: Path):
    created = task(ONE)
    TRACE_FOLDER.keep(tmp_path)
    created([0])
    assert TRACE_FOLDER.path is None


@pytest.mark.slow
def test_processes_store_the_traces_that_they_make(tmp_path: Path):
    nets, stored = tmp_path / "nets.py", tmp_path / "traces"
    nets.write_text(OWN)
    stored.mkdir()
    TRACE_FOLDER.keep(stored)
    with RowsFile(tmp_path / "rows", design(Scenario(f"{nets}:Own"), {"batch": [1, 2]})) as rows:
        run(rows, engine("local", 2))
    assert {path.suffix for path in stored.rglob("*") if path.is_file()} >= {".trace"}
