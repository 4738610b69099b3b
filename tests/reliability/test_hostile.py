"""A part of the run over hostile files: the hand-written ones, and a few mutations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reliability import hostile, promises

FORMATS = hostile.formats()
_MUTATIONS = 10


@pytest.mark.parametrize("name", FORMATS)
def test_a_hostile_file_ends_in_one_error(name: str, tmp_path: Path) -> None:
    form = FORMATS[name]
    answers = [
        hostile.fault(name, form, file, content, tmp_path)
        for file, content in hostile.files(form, _MUTATIONS)
    ]
    assert len(answers) > 35
    assert [wrong for wrong in answers if wrong is not None] == []


@pytest.mark.parametrize("name", FORMATS)
def test_the_valid_file_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"valid{FORMATS[name].suffix}"
    path.write_bytes(FORMATS[name].valid)
    assert FORMATS[name].read(path) is not None


def test_a_crash_and_a_slow_reader_are_faults(tmp_path: Path) -> None:
    def crash(path: Path) -> None:
        raise KeyError("k")

    wrong = hostile.fault("x", hostile.Format(".x", crash, b"v"), "empty", b"", tmp_path)
    assert wrong == hostile.Fault("x", "empty", "KeyError: 'k'")


def test_a_promise_has_one_row(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("above\n<!-- promises -->\n<!-- /promises -->\nbelow\n", "utf-8")
    promises.write("a", "run a", "1", path)
    promises.write("b", "run b", "2", path)
    promises.write("a", "run a", "3", path)
    lines = path.read_text("utf-8").splitlines()
    assert [line.split(" | ")[2] for line in lines if line.startswith(("| a", "| b"))] == ["3", "2"]
    assert (lines[0], lines[-1]) == ("above", "below")
