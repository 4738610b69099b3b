"""A trace on disk: what is read back is what was written, and anything else is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from simulator import predict_trace
from simulator.errors import InputError
from simulator.formats.trace_file import load, save
from simulator.prediction import Prediction
from simulator.records import Trace
from simulator.tracing import trace
from tests.simulator.conftest import small

FORMATS = ["trace.json", "trace.msgpack", "trace"]
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
    """The file with one thing in it changed."""
    rows = json.loads(path.read_text())
    change(rows)
    path.write_text(json.dumps(rows))
    return path


def same(a: Prediction, b: Prediction) -> bool:
    """Every number of two predictions, bit by bit."""
    plain = [f.name for f in fields(Prediction) if f.name not in ("columns", "schedule")]
    arrays = [(a.columns, b.columns), (a.schedule, b.schedule)]
    return all(getattr(a, name) == getattr(b, name) for name in plain) and all(
        np.array_equal(getattr(x, f.name), getattr(y, f.name)) for x, y in arrays for f in fields(x)
    )


# -- what is written is read ------------------------------------------------------------------


@pytest.mark.parametrize("file", FORMATS)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bert-base", dict(phase="training", autocast="bf16")),
        ("swin-t", {}),
        ("lstm", dict(phase="training", optimizer="sgd", gpu="a100")),
    ],
)
def test_a_trace_comes_back_equal(
    tmp_path: Path, file: str, name: str, options: dict[str, Any]
) -> None:
    written = step(name, **options)
    save(written, tmp_path / file)
    read = load(tmp_path / file)
    assert read == written
    assert same(predict_trace(read), predict_trace(written))
    assert read.signatures[1] == written.signatures[1]  # repeated layers share a signature again


def test_assumptions_come_back(tmp_path: Path) -> None:
    import torch

    from tests.simulator.conftest import Calls

    written = trace(Calls(lambda _, x: x[x > 0]), (torch.ones(8),))
    save(written, tmp_path / "t")
    assert load(tmp_path / "t").assumptions == written.assumptions != []


def test_the_name_decides_the_format_and_the_content_how_it_is_read(tmp_path: Path) -> None:
    written = step()
    save(written, tmp_path / "a.json")
    save(written, str(tmp_path / "a.msgpack"))
    assert json.loads((tmp_path / "a.json").read_bytes())["format"] == "ridgepoint-trace"
    assert msgspec.msgpack.decode((tmp_path / "a.msgpack").read_bytes())["version"] == 1
    (tmp_path / "a.msgpack").rename(tmp_path / "b.json")
    assert load(tmp_path / "b.json") == load(str(tmp_path / "a.json")) == written


def test_loading_and_predicting_need_no_torch(saved: Path) -> None:
    code = """
import sys
from simulator import predict_trace
from simulator.formats.trace_file import load
found = predict_trace(load(sys.argv[1]), gpu="a100")
assert found.period_s > 0 and found.kernels and found.peak_memory_bytes > 0
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(saved)], check=True)


# -- writing ------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "trace.json"
    with pytest.raises(InputError) as caught:
        save(step(), path)
    assert str(caught.value) == f"cannot write the trace {path}: No such file or directory"
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()

    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError) as caught:
        save(step("bert-base"), saved)
    assert str(caught.value) == f"cannot write the trace {saved}: No space left on device"
    assert saved.read_bytes() == before and list(saved.parent.iterdir()) == [saved]


def test_a_write_leaves_one_file(saved: Path) -> None:
    save(step("bert-base"), saved)
    assert list(saved.parent.iterdir()) == [saved] and len(load(saved).ops) > 26


# -- files that are none -------------------------------------------------------------------------


def test_no_file(tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    assert refused(missing) == f"cannot read the trace {missing}: No such file or directory"
    assert refused(tmp_path) == f"cannot read the trace {tmp_path}: Is a directory"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Input data was truncated"),
        (b"{", "Input data was truncated"),
        (b"not a trace", "Expected `object`, got `int`"),
        (b"[1, 2]", "Expected `object`, got `int`"),
        (b"{}", "Object missing required field `format`"),
        (b'{"format": "other"}', "Invalid enum value 'other' - at `$.format`"),
        (b"\x00\x01\x02", "Expected `object`, got `int`"),
        (b"{" + b'"a": [' * 200_000, None),
        (b"\x91" * 200_000, None),
        (b'{"format": "\xff\xfe"}', None),
    ],
)  # fmt: skip
def test_a_file_of_something_else(tmp_path: Path, content: bytes, reason: str | None) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    text = refused(path)
    assert text.startswith(f"{path} is no trace of Ridgepoint: {reason or ''}")
    assert text.endswith("; expected a file written by `ridgepoint predict … --save-trace FILE`")


@pytest.mark.parametrize("file", ["trace.json", "trace.msgpack"])
def test_a_torn_file(tmp_path: Path, file: str) -> None:
    path = tmp_path / file
    save(step(), path)
    whole = path.read_bytes()
    for cut in (len(whole) // 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert refused(path).startswith(
            f"{path} is no trace of Ridgepoint: Input data was truncated; expected"
        )


def test_a_huge_file(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:  # sparse: it takes no room
        file.truncate(513 * 2**20)
    assert refused(path) == f"{path} is 513 MiB: expected a trace of at most 512 MiB"


def test_another_version(saved: Path) -> None:
    changed(saved, lambda rows: rows.update(version=2))
    assert refused(saved) == f"{saved} has trace version 2: expected 1; {DOES}"


def test_an_unknown_key(saved: Path) -> None:
    changed(saved, lambda rows: rows.update(surplus=1))
    assert refused(saved).startswith(
        f"{saved} is no trace of Ridgepoint: Object contains unknown field `surplus`"
    )


def test_a_missing_key(saved: Path) -> None:
    changed(saved, lambda rows: rows.pop("samples"))
    assert refused(saved).startswith(
        f"{saved} is no trace of Ridgepoint: Object missing required field `samples`"
    )


def put(key: str, row: int, place: int, value: object) -> Change:
    """One number of one row."""

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
        (put("ops", 0, 6, 9999), "an op names a storage that is not there"),
        (put("ops", 0, 6, -1), "an op names a storage that is not there"),
        (lambda rows: rows["ops"][0].pop(), "aten.t.default has 1 storages"),
        (lambda rows: rows["ops"][0].clear(), "not enough values to unpack (expected at least 6, "
         "got 0)"),
        # a signature: [name, inputs, outputs, names, args, aliases]
        (put("signatures", 0, 1, [-1]), "a negative index -1"),
        (put("signatures", 0, 2, [9999]), "list index out of range"),
        (put("signatures", 0, 3, []),
         "aten.t.default has names or aliases that do not fit its tensors"),
        (put("signatures", 0, 5, [0]),
         "aten.t.default has names or aliases that do not fit its tensors"),
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
        (put("storages", 0, 4, "tpu"),
         "Expected `str` matching regex '^(cuda|cpu)$' - at `$.storages[0][4]`"),
        (put("ops", 0, 0, 1.5), "Expected `int`, got `float` - at `$.ops[0][0]`"),
        (lambda rows: rows.update(weight_bytes=-1), "Expected `int` >= 0 - at `$.weight_bytes`"),
        (lambda rows: rows.update(samples=-1), "Expected `int` >= 0 - at `$.samples`"),
        (lambda rows: rows.update(phase="both"), "Invalid enum value 'both' - at `$.phase`"),
    ],
)  # fmt: skip
def test_a_number_that_cannot_be(saved: Path, change: Change, reason: str) -> None:
    changed(saved, change)
    assert refused(saved) == (
        f"{saved} is no trace of Ridgepoint: {reason}; expected a file written by "
        "`ridgepoint predict … --save-trace FILE`"
    )
