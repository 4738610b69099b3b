"""Compiler results on disk: valid ones are read back, others are ignored."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from simulator.hardware.gpu import gpu
from simulator.inductor.answer import Answer
from simulator.inductor.breaks.pieces import Piece
from simulator.inductor.cache import ScheduleCache, key
from simulator.inductor.question import Question
from simulator.inductor.schedule import Buffer, Schedule
from simulator.timing import profile

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


@pytest.mark.parametrize("content", [b"", b"\xc1", msgspec.msgpack.encode(WHOLE)])
def test_a_truncated_or_invalid_file_is_ignored(tmp_path: Path, content: bytes) -> None:
    cache = ScheduleCache(tmp_path)
    cache.put("name", Answer(WHOLE))
    (path,) = cache.folder.iterdir()
    path.write_bytes(content)
    assert cache.get("name") is None


def test_a_key_depends_on_the_contents_of_the_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = Question("bert-base", gpu("h200"))
    packaged, loaded = key(question), profile.learned("h200_sxm")
    profile.profile.cache_clear()  # another process loads the profile again
    assert profile.learned("h200_sxm") is not loaded and key(question) == packaged
    monkeypatch.setattr(profile, "users", lambda: tmp_path)
    own = tmp_path / "h200_sxm.json"
    keys = {packaged}
    for contents in ("{}", '{"gap_s": 1}'):
        own.write_text(contents)
        keys.add(key(question))
    assert len(keys) == 3
