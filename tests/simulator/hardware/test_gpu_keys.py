"""The keys of a GPU, its file, and the peaks derived from its parts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from simulator.errors import InputError
from simulator.hardware.derived_peak import DerivedPeak, clock_hz
from simulator.hardware.gpu import GPU, PACKAGED, gpu, gpus
from simulator.hardware.gpu_file import GPUFile, of_table
from simulator.hardware.gpu_keys import KEYS, id_of, provenance, save, table, text


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "gpus"
    folder.mkdir()
    monkeypatch.setenv("RIDGEPOINT_GPUS", str(folder))
    return folder


MINE: dict[str, Any] = {
    "name": "My card",
    "memory_gib": 80,
    "bandwidth_gbytes_per_s": 1500,
    "tensor_tflops": {"bf16": 312},
    "unsourced": ["memory_gib", "tensor_tflops.bf16"],
    "sources": {"measured: a copy of 1 GiB": ["bandwidth_gbytes_per_s"]},
}


@pytest.mark.parametrize("name", sorted(path.stem for path in PACKAGED.glob("*.toml")))
def test_the_keys_of_a_gpu_and_their_file_give_it_again(name: str) -> None:
    card = gpu(name)
    keys = table(card)
    assert GPU(id=name, **of_table(keys, "")) == card
    assert tomllib.loads(text(keys)) == keys
    assert max(map(len, text(keys).splitlines())) < 1100


def test_the_keys_describe_their_figures() -> None:
    by_name = {key.name: key for key in KEYS}
    assert [*by_name, "unsourced", "sources"] == list(GPUFile.__struct_fields__)
    assert [name for name, key in by_name.items() if key.required] == [
        "name",
        "memory_gib",
        "bandwidth_gbytes_per_s",
    ]
    units = by_name["units"]
    assert (units.kind, units.unit, units.low, units.high) == ("count", "", 1, 100_000)
    wide = by_name["l2_bandwidth_gbytes_per_s"]
    assert (wide.kind, wide.unit, wide.words, wide.low) == ("number", "GB/s", "l2 bandwidth", 0.1)
    peaks = by_name["tensor_tflops"]
    assert (peaks.kind, peaks.unit, peaks.low, peaks.high) == ("dtypes", "TFLOP/s", 1e-3, 1e7)
    assert by_name["aliases"].kind == "names" and by_name["notes"].kind == "text"


def test_a_table_of_one_source_is_named_as_a_whole() -> None:
    stated = {
        "units": None,
        "tensor_tflops.bf16": "sheet",
        "tensor_tflops.fp16": "sheet",
        "vector_tflops.fp32": "sheet",
        "vector_tflops.fp16": None,
    }
    assert provenance(stated) == {
        "unsourced": ["units", "vector_tflops.fp16"],
        "sources": {"sheet": ["tensor_tflops", "vector_tflops.fp32"]},
    }


def test_a_saved_gpu_is_found_by_its_name(folder: Path) -> None:
    path = save(MINE)
    assert path == folder / "my_card.toml"
    card = gpu("my card")
    assert (card.id, card.memory_bytes, card.bandwidth_bytes_per_s) == (
        "my_card",
        80 * 2**30,
        1500e9,
    )
    assert card.sources == {"bandwidth_gbytes_per_s": "measured: a copy of 1 GiB"}
    assert len(gpus()) == len([*PACKAGED.glob("*.toml")]) + 1
    save({**MINE, "memory_gib": 40}, path)
    assert gpu("my_card").memory_bytes == 40 * 2**30
    assert [each.name for each in folder.iterdir()] == ["my_card.toml"]


@pytest.mark.parametrize(("changes", "words"), [
    ({"name": "H200"}, "the name 'h200' is taken by h200_sxm.toml: expected ids, names and aliases "
     "to be unique; choose another name"),
    ({"aliases": ["Mine", "L40S"]}, "the name 'L40S' is taken by l40s.toml: expected ids, names "
     "and aliases to be unique; choose another name"),
    ({"memory_gib": -1}, "the GPU: memory_gib is -1: expected `float` >= 0.1; correct it"),
    ({"tensor_tflops": {}, "unsourced": []}, "the GPU: no peak: expected a figure in "
     "[tensor_tflops] or [vector_tflops]; add one"),
    ({"name": "???"}, "the name '???': expected letters or digits; rename it"),
])  # fmt: skip
def test_a_wrong_key_is_refused_and_nothing_is_written(
    folder: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError) as caught:
        save({**MINE, **changes})
    assert str(caught.value) == words
    assert not list(folder.iterdir())


def test_a_file_is_not_overwritten_unless_it_is_the_one(folder: Path) -> None:
    save(MINE)
    with pytest.raises(InputError, match=r"my_card\.toml already exists"):
        save(MINE)


def test_a_line_too_long_to_be_read_again_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="too large"):
        save({**MINE, "notes": "🧮" * 600})  # 4 · 600 = 2400 bytes
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("My H200, faster", "my_h200_faster"),
        ("×2", "2"),
        ("…", ""),
        ("a" * 80, "a" * 60),
    ],
)
def test_an_id_of_a_name(name: str, expected: str) -> None:
    assert id_of(name) == expected


def test_a_peak_of_its_parts() -> None:
    h100 = DerivedPeak(132, 1830e6, 4096, 989.4e12)
    assert h100.flops_per_s == 132 * 1830e6 * 4096 == 989_429_760_000_000
    assert h100.agrees and abs(h100.off) < 1e-4
    sparse = DerivedPeak(132, 1830e6, 4096, 1978.9e12)
    assert not sparse.agrees and sparse.off == pytest.approx(1.0, abs=1e-3)
    edge = DerivedPeak(100, 1e9, 1, 102e9)  # 100 · 1e9 · 1 = 100e9, plus 2%
    assert edge.agrees and not DerivedPeak(100, 1e9, 1, 102.1e9).agrees


def test_the_clock_of_an_engine() -> None:
    assert clock_hz("tensor", "bf16", 1980.0, 1830.0) == 1830.0
    assert clock_hz("tensor", "fp64", 1980.0, 1830.0) == 1980.0
    assert clock_hz("vector", "fp32", 1980.0, 1830.0) == 1980.0
    assert clock_hz("tensor", "bf16", 1410.0, None) == 1410.0
    assert clock_hz("vector", "fp32", None, 1830.0) is None
