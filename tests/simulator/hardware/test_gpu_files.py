"""A wrong GPU file is refused with a readable message."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulator.own_gpu import MINE, refusal, written


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1500", "1e30", "bandwidth_gbytes_per_s is 1e+30: expected `float` <= 1000000.0"),
        ("1500", "nan", "bandwidth_gbytes_per_s is nan: expected `float` >= 0.1"),
        ("1500", "inf", "bandwidth_gbytes_per_s is inf: expected `float` <= 1000000.0"),
        ("1500", "-5", "bandwidth_gbytes_per_s is -5: expected `float` >= 0.1"),
        ("1500", "0", "bandwidth_gbytes_per_s is 0: expected `float` >= 0.1"),
        ("1500", "true", "bandwidth_gbytes_per_s is True: expected `float`, got `bool`"),
        ("1500", '"fast"', "bandwidth_gbytes_per_s is 'fast': expected `float`, got `str`"),
        ("1500", "9" * 400, "bandwidth_gbytes_per_s is a huge number: number out of range"),
        ("1500", "0x" + "f" * 1900, "bandwidth_gbytes_per_s is a huge number: number out of range"),
        ("312", "nan", "tensor_tflops.bf16 is nan: expected `float` >= 0.001"),
        (
            '"Mine"',
            '"Mine"\nsustained_tensor = 80',
            "sustained_tensor is 80: expected a share from 0.05 to 1, such as 0.8",
        ),
        (
            '"Mine"',
            '"Mine"\nl2_reach = "half"',
            "l2_reach is 'half': expected a share from 0.05 to 1, such as 0.8",
        ),
        (
            '"Mine"',
            '"Mine"\ncompute_capability = 8.9',
            'compute_capability is 8.9: expected a version in quotes, such as "8.9"',
        ),
        ('"Mine"', '""', "name is '': expected `str` of length >= 1"),
        ('"Mine"', '"Mine"\nunits = 1.5', "units is 1.5: expected `int | null`, got `float`"),
        ('"Mine"', '"Mine"\naliases = "x"', "aliases is 'x': expected `array`, got `str`"),
        ('"Mine"', '"Mine"\nvector_tflops = 3', "vector_tflops is 3: expected `object`, got `int`"),
    ],
)
def test_wrong_figure(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = written(tmp_path / "mine.toml", MINE.replace(old, new))
    assert refusal(path) == message + "; correct it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MINE.replace("memory_gib", "memory_gb"),
            "unknown key 'memory_gb': did you mean 'memory_gib'? Correct or remove it",
        ),
        (
            MINE + "bf17 = 3",
            "unknown key 'bf17' in [tensor_tflops]: did you mean 'bf16'? Correct or remove it",
        ),
        (
            MINE.replace("memory_gib = 80", ""),
            "'memory_gib' is missing: expected at least name, memory_gib, bandwidth_gbytes_per_s "
            "and a peak; add it",
        ),
        (
            MINE.partition("[")[0],
            "no peak: expected a figure in [tensor_tflops] or [vector_tflops]; add one",
        ),
        (
            'unsourced = ["memory_gib"]' + MINE + '[sources]\nx = ["memory_gib"]',
            "`sources` and `unsourced` name 'memory_gib': expected figures of this file (such as "
            "'tensor_tflops.bf16'), each once; correct or remove it",
        ),
        (
            'unsourced = ["tdp_w"]' + MINE,
            "`sources` and `unsourced` name 'tdp_w': expected figures of this file (such as "
            "'tensor_tflops.bf16'), each once; correct or remove it",
        ),
        (
            "name = ",
            "not TOML: Invalid value (at end of document); expected lines such as `units = 108`; "
            "correct the file",
        ),
    ],
)
def test_wrong_file(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(written(tmp_path / "mine.toml", text)) == message


@pytest.mark.parametrize("text", ["#" * 70_000, "# \n" * 30_000, "a" + ".a" * 20_000 + " = 1"])
def test_hostile_size(tmp_path: Path, text: str) -> None:
    assert refusal(written(tmp_path / "mine.toml", text)) == (
        "too large: expected 65536 bytes and lines of 2000 at most; check that it is a GPU's file"
    )


def test_an_unknown_key_without_a_near_miss_lists_the_keys(tmp_path: Path) -> None:
    message = refusal(written(tmp_path / "mine.toml", "zzz = 1" + MINE))
    assert message.startswith("unknown key 'zzz': expected one of name, aliases, vendor, ")
    assert message.endswith(", sources. Correct or remove it")


def test_deep_nest(tmp_path: Path) -> None:
    # tomllib's own message differs between versions of Python
    assert refusal(written(tmp_path / "mine.toml", "x = " + "[" * 1900)).startswith("not TOML: ")


def test_no_text_at_all(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert refusal(path).startswith("not TOML: 'utf-8' codec can't decode byte 0xff in position 0")


@pytest.mark.parametrize("name", ["none.toml", "gpus", "x" * 300 + ".toml"])
def test_no_file(tmp_path: Path, name: str) -> None:
    message = "no such file: expected a GPU's TOML file; check the path"
    assert refusal(tmp_path / name) == message
