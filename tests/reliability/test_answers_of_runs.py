"""The file of a long run's answers, which a kill may truncate."""

from __future__ import annotations

from pathlib import Path

from tests.reliability.answers import answered


def test_a_cut_line_is_left_out_and_the_last_answer_of_a_case_counts(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert answered(path) == {}
    path.write_text('{"key": "a", "n": 1}\n{"key": "b"}\n{"key": "a", "n": 2}\n{"key": "c', "utf-8")
    assert answered(path) == {"a": {"key": "a", "n": 2}, "b": {"key": "b"}}
