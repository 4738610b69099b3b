"""Fixtures and helpers for tests of trace files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.errors import InputError
from simulator.formats.trace_file import load, save
from simulator.records import Trace
from simulator.tracing import trace
from tests.simulator.conftest import small

DOES = "trace the network again"


def step(name: str = "mlp-tiny", **options: Any) -> Trace:
    training = options.get("phase") == "training"
    return trace(*small(name, training=training), **options)


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load(path)
    return str(caught.value)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    save(step(), path)
    return path


Change = Callable[[dict[str, Any]], object]


def changed(path: Path, change: Change) -> Path:
    """The file's contents with one change."""
    rows = json.loads(path.read_text())
    change(rows)
    path.write_text(json.dumps(rows))
    return path
