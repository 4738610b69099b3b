"""A trace on disk: the trace that is read equals the written one, and invalid files are refused."""

from __future__ import annotations

import json
import subprocess
import sys
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
from simulator.tracing import trace
from tests.simulator.formats.conftest import refused, step

FORMATS = ["trace.json", "trace.msgpack", "trace"]


def same(a: Prediction, b: Prediction) -> bool:
    """Whether all numbers of two predictions are equal, bit by bit."""
    plain = [f.name for f in fields(Prediction) if f.name not in ("columns", "schedule")]
    arrays = [(a.columns, b.columns), (a.schedule, b.schedule)]
    return all(getattr(a, name) == getattr(b, name) for name in plain) and all(
        np.array_equal(getattr(x, f.name), getattr(y, f.name)) for x, y in arrays for f in fields(x)
    )


# -- round trips ------------------------------------------------------------------


@pytest.mark.layered(5)
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
    assert msgspec.msgpack.decode((tmp_path / "a.msgpack").read_bytes())["version"] == 2
    (tmp_path / "a.msgpack").rename(tmp_path / "b.json")
    assert load(tmp_path / "b.json") == load(str(tmp_path / "a.json")) == written


def test_loading_and_predicting_need_no_torch(saved: Path) -> None:
    code = """
import sys
from simulator import predict_trace
from simulator.formats.trace_file import load
p = predict_trace(load(sys.argv[1]), gpu="a100")
assert p.period_s > 0 and p.kernels and p.peak_memory_bytes > 0
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(saved)], check=True)


# -- writing ------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "trace.json"
    with pytest.raises(InputError) as caught:
        save(step(), path)
    assert str(caught.value) == (
        f"cannot write the trace {path}: No such file or directory: expected a writable path; "
        "name another"
    )
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
    assert str(caught.value) == (
        f"cannot write the trace {saved}: No space left on device: expected a writable path; "
        "name another"
    )
    assert saved.read_bytes() == before and list(saved.parent.iterdir()) == [saved]


def test_a_write_leaves_one_file(saved: Path) -> None:
    save(step("bert-base"), saved)
    assert list(saved.parent.iterdir()) == [saved] and len(load(saved).ops) > 26


# -- invalid files -------------------------------------------------------------------------


def test_no_file(tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    remedy = "expected a saved trace; check the path"
    assert refused(missing) == (
        f"cannot read the trace {missing}: No such file or directory: {remedy}"
    )
    assert refused(tmp_path) == f"cannot read the trace {tmp_path}: Is a directory: {remedy}"


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
)
def test_a_file_of_something_else(tmp_path: Path, content: bytes, reason: str | None) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    text = refused(path)
    assert text.startswith(f"{path} is not a Ridgepoint trace: {reason or ''}")
    assert text.endswith("; expected a file written by `ridgepoint predict … --save-trace FILE`")
