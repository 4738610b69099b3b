"""Errors of trace files that are truncated, damaged or of another version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simulator.formats.trace_file import save
from tests.simulator.formats.conftest import DOES, Change, changed, refused, step


@pytest.mark.parametrize("file", ["trace.json", "trace.msgpack"])
def test_a_torn_file(tmp_path: Path, file: str) -> None:
    path = tmp_path / file
    save(step(), path)
    whole = path.read_bytes()
    for cut in (len(whole) // 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert refused(path).startswith(
            f"{path} is not a Ridgepoint trace: Input data was truncated; expected"
        )


def test_a_huge_file(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:  # a sparse file takes no space on disk
        file.truncate(513 * 2**20)
    assert refused(path) == f"{path} is 513 MiB: expected a trace of at most 512 MiB"


def test_another_version(saved: Path) -> None:
    changed(saved, lambda rows: rows.update(version=3))
    assert refused(saved) == f"{saved} has trace version 3: expected 2; {DOES}"


def test_a_version_without_pythons_instructions(saved: Path) -> None:
    def older(rows: dict[str, Any]) -> None:
        for name in ("instructions", "cold_instructions", "attributes", "c_calls"):
            del rows[f"tail_{name}"]
        rows["ops"] = [[*row[:6], *row[10:]] for row in rows["ops"]]
        rows["version"] = 1

    changed(saved, older)
    assert refused(saved) == f"{saved} has trace version 1: expected 2; {DOES}"


def test_an_unknown_key(saved: Path) -> None:
    changed(saved, lambda rows: rows.update(surplus=1))
    assert refused(saved).startswith(
        f"{saved} is not a Ridgepoint trace: Object contains unknown field `surplus`"
    )


def test_a_missing_key(saved: Path) -> None:
    changed(saved, lambda rows: rows.pop("samples"))
    assert refused(saved).startswith(
        f"{saved} is not a Ridgepoint trace: Object missing required field `samples`"
    )


def put(key: str, row: int, place: int, value: object) -> Change:
    """Replace one number of one row."""

    def change(rows: dict[str, Any]) -> None:
        rows[key][row][place] = value

    return change


def resize(key: str, value: int) -> Change:
    def change(rows: dict[str, Any]) -> None:
        rows["tensors"][0][key] = [value, *rows["tensors"][0][key][1:]]

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (resize("shape", -4), "a tensor has a negative size or stride"),
        (resize("stride", -1), "a tensor has a negative size or stride"),
        (lambda rows: rows["tensors"][0].update(stride=[1]), "a tensor of 2 sizes has 1 strides"),
        (lambda rows: rows["tensors"][0].update(dtype="float33"), "unknown dtype 'float33'"),
        # an op: [signature, module, phase, python calls, module calls, nodes, storages…]
        (put("ops", 0, 0, 9999), "list index out of range"),
        (put("ops", 0, 0, -1), "a negative index -1"),
        (put("ops", 0, 1, 9999), "list index out of range"),
        (put("ops", 0, 2, 7), "tuple index out of range"),
        (put("ops", 0, 2, -1), "a negative index -1"),
        (put("ops", 0, 3, -7), "an op has negative counts"),
        (put("ops", 0, 10, 9999), "an op refers to a missing storage"),
        (put("ops", 0, 10, -1), "an op refers to a missing storage"),
        (lambda rows: rows["ops"][0].pop(), "aten.t.default has 1 storages"),
        (lambda rows: rows["ops"][0].clear(), "not enough values to unpack (expected at least 3, "
         "got 0)"),
        # a signature: [name, inputs, outputs, names, args, aliases]
        (put("signatures", 0, 1, [-1]), "a negative index -1"),
        (put("signatures", 0, 2, [9999]), "list index out of range"),
        (put("signatures", 0, 3, []),
         "aten.t.default has names or aliases that do not match its tensors"),
        (put("signatures", 0, 5, [0]),
         "aten.t.default has names or aliases that do not match its tensors"),
        # a storage: [bytes, born, freed, role, device]
        (put("storages", 0, 3, 99), "tuple index out of range"),
        (put("storages", 0, 3, -1), "a negative index -1"),
    ],
)  # fmt: skip
def test_a_damaged_file(saved: Path, change: Change, reason: str) -> None:
    changed(saved, change)
    assert refused(saved) == f"{saved} is damaged: {reason}; {DOES}"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put("storages", 0, 0, -5), "Expected `int` >= 0 - at `$.storages[0][0]`"),
        (put("storages", 0, 1, -2), "Expected `int` >= -1 - at `$.storages[0][1]`"),
        (put("storages", 0, 2, -3), "Expected `int` >= 0 - at `$.storages[0][2]`"),
        (
            put("storages", 0, 4, "tpu"),
            "Expected `str` matching regex '^(cuda|cpu)$' - at `$.storages[0][4]`",
        ),
        (put("ops", 0, 0, 1.5), "Expected `int`, got `float` - at `$.ops[0][0]`"),
        (lambda rows: rows.update(weight_bytes=-1), "Expected `int` >= 0 - at `$.weight_bytes`"),
        (lambda rows: rows.update(samples=-1), "Expected `int` >= 0 - at `$.samples`"),
        (lambda rows: rows.update(phase="both"), "Invalid enum value 'both' - at `$.phase`"),
    ],
)
def test_a_number_that_cannot_be(saved: Path, change: Change, reason: str) -> None:
    changed(saved, change)
    assert refused(saved) == (
        f"{saved} is not a Ridgepoint trace: {reason}; expected a file written by "
        "`ridgepoint predict … --save-trace FILE`"
    )
