"""Answers of the compiler on disk: valid ones are read back, others are ignored."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from simulator.inductor.answer import Answer
from simulator.inductor.breaks.pieces import Piece
from simulator.inductor.cache import ScheduleCache
from simulator.inductor.schedule import Buffer, Schedule

WHOLE = Schedule([], [Buffer(512, "input")], [], "2.13.0", "3.9.0")
IN_PIECES = Answer(
    None,
    [Piece(True, ["aten.mm.default"], "nets.py, line 3", "it said so", 0)],
    [WHOLE, "no loop"],
    "it breaks",
)


@pytest.mark.parametrize("answer", [Answer(WHOLE), IN_PIECES])
def test_an_answer_is_read_back_unchanged(tmp_path: Path, answer: Answer) -> None:
    cache = ScheduleCache(tmp_path)
    assert cache.get("name") is None
    cache.put("name", answer)
    assert cache.get("name") == answer


@pytest.mark.parametrize("found", [b"", b"\xc1", msgspec.msgpack.encode(WHOLE)])
def test_a_truncated_or_invalid_file_is_ignored(tmp_path: Path, found: bytes) -> None:
    cache = ScheduleCache(tmp_path)
    cache.put("name", Answer(WHOLE))
    (path,) = cache.folder.iterdir()
    path.write_bytes(found)
    assert cache.get("name") is None
