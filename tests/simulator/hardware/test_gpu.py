"""GPUs as data: the figures agree with each other, and each GPU is found by its names."""

from __future__ import annotations

import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from simulator.errors import InputError
from simulator.hardware.gpu import PACKAGED, Engine, gpu, gpus
from tests.simulator.own_gpu import MINE, written

pytestmark = pytest.mark.usefixtures("folder")

KNOWN = """
    a10 a100_pcie_40 a100_pcie_80 a100_sxm_40 a100_sxm_80 a10g a16 a30 a40 apple_m3 apple_m3_max
    apple_m3_ultra apple_m4 apple_m4_max apple_m4_pro b200_sxm b300_sxm gaudi3 gb200 gb300 gh200
    h100_nvl h100_pcie h100_sxm h100_sxm_96 h20 h200_sxm jetson_agx_orin l4 l40 l40s mi100 mi210
    mi250 mi250x mi300x mi325x mi355x p100_pcie_16 p4 p40 rtx2080ti rtx3060 rtx3080 rtx3090
    rtx4060ti_16 rtx4060ti_8 rtx4070 rtx4070ti_super rtx4080 rtx4090 rtx5070 rtx5070ti rtx5080
    rtx5090 rtx6000_ada rtx_a4000 rtx_a5000 rtx_a6000 rtx_pro_6000
    rtx_pro_6000_max_q rtx_pro_6000_server t4 tpu_v4 tpu_v5e tpu_v5p tpu_v6e
    v100_pcie_16 v100_pcie_32 v100_sxm2_16 v100_sxm2_32
""".split()
IDS = sorted(path.stem for path in PACKAGED.glob("*.toml"))


# The figures


def test_the_packaged_gpus() -> None:
    assert sorted(g.id for g in gpus()) == IDS
    assert set(KNOWN) <= set(IDS)


# all except the four TPUs, whose number of units is not published
WITH_FORMULA = [name for name in IDS if not name.startswith("tpu")]
PASCAL = ["p100_pcie_16", "p4", "p40"]
APPLE = [name for name in IDS if name.startswith("apple")]


def test_how_many_gpus_have_a_formula() -> None:
    assert len(WITH_FORMULA) == len(IDS) - 4
    tensor = [name for name in IDS if gpu(name).tensor_flops_per_clock_per_unit]
    assert tensor == [name for name in WITH_FORMULA if name not in PASCAL + APPLE]
    assert all(gpu(name).vector_flops_per_clock_per_unit for name in PASCAL + APPLE)


@pytest.mark.parametrize("name", WITH_FORMULA)
def test_peak_is_units_times_flop_per_clock_times_clock(name: str) -> None:
    # H100 SXM, bf16 on tensor cores: 132 * 4096 * 1830e6 = 989.4e12
    #           fp32 on vector units:  132 *  256 * 1980e6 =  66.9e12
    #           fp64 on tensor cores:  132 *  256 * 1980e6 =  66.9e12, at the vector clock
    g = gpu(name)
    assert g.units and g.boost_hz and g.tensor_hz
    engines: list[tuple[Engine, Any, float]] = [
        ("tensor", g.tensor_flops_per_clock_per_unit, g.tensor_hz),
        ("vector", g.vector_flops_per_clock_per_unit, g.boost_hz),
    ]
    # its fp16 and tf32 figures are for another clock, and its vector clock is unknown
    if name != "gaudi3":
        assert g.tensor_flops_per_s.keys() == g.tensor_flops_per_clock_per_unit.keys()
        assert g.vector_flops_per_s.keys() == g.vector_flops_per_clock_per_unit.keys()
    for engine, flops_per_clock, hz in engines:
        for dtype, flops in flops_per_clock.items():
            clock = g.boost_hz if dtype == "fp64" else hz
            assert g.peak(engine, dtype) == pytest.approx(g.units * flops * clock, rel=0.02), dtype


@pytest.mark.parametrize(
    ("name", "engine", "dtype", "flops_per_s"),
    [
        ("v100", "tensor", "fp16", 125.3e12),  # 80 * 1024 * 1530e6
        ("t4", "vector", "fp32", 8.14e12),  # 40 * 128 * 1590e6
        ("a100", "tensor", "bf16", 311.9e12),  # 108 * 2048 * 1410e6
        ("rtx4090", "tensor", "fp16", 165.2e12),  # 128 * 512 * 2520e6
        ("b200", "tensor", "bf16", 2250.2e12),  # 148 * 8192 * 1856e6
        ("mi300x", "vector", "fp32", 163.4e12),  # 304 * 256 * 2100e6
    ],
)
def test_sums_by_hand(name: str, engine: Engine, dtype: str, flops_per_s: float) -> None:
    assert gpu(name).peak(engine, dtype) == pytest.approx(flops_per_s, rel=0.02)


def test_no_peak_counts_sparsity() -> None:
    assert gpu("h100").peak("tensor", "bf16") == 989.4e12  # 1978.9e12 with sparsity
    assert gpu("l4").peak("tensor", "bf16") == 121e12  # 242e12 with sparsity
    assert gpu("l4").bandwidth_bytes_per_s == 300e9  # 3350e9 would be the H100's


@pytest.mark.parametrize("name", IDS)
def test_every_figure_has_a_source_or_is_marked(name: str) -> None:
    # Read from the file itself, because loading a GPU marks every figure without a source as
    # unsourced.
    table = tomllib.loads((PACKAGED / f"{name}.toml").read_text(encoding="utf-8"))
    sources: dict[str, list[str]] = table.pop("sources", {})
    stated = [*table.get("unsourced", []), *(key for keys in sources.values() for key in keys)]
    expected: list[str] = []
    for key, value in table.items():
        # otherwise the note names the whole table
        if isinstance(value, dict) and key not in stated:
            expected += [f"{key}.{dtype}" for dtype in table[key]]
        elif isinstance(value, int | float | dict):
            expected.append(key)
    assert sorted(stated) == sorted(expected)
    assert set(gpu(name).sources).isdisjoint(gpu(name).unsourced)


def test_units_become_si() -> None:
    g = gpu("a100_sxm_80")
    assert g.memory_bytes == 80 * 1024**3  # the vendor writes GB
    assert g.l2_bytes == 40 * 1024**2
    assert g.bandwidth_bytes_per_s == 2039e9
    assert g.l2_bandwidth_bytes_per_s == 5400e9
    assert g.interconnect_bytes_per_s == 600e9
    assert (g.boost_hz, g.tensor_hz) == (1410e6, 1410e6)
    assert (g.units, g.tdp_w, g.compute_capability) == (108, 400, (8, 0))
    assert (g.llc_bytes, g.price_usd) == (None, None)
    assert gpu("mi300x").llc_bytes == 256 * 1024**2


def test_missing_figures_of_a_gpu() -> None:
    assert gpu("v100").peak("tensor", "bf16") is None
    assert gpu("v100").ridge("tensor", "bf16") is None
    assert gpu("a100").peak("tensor", "fp8") is None
    with pytest.raises(InputError) as caught:
        gpu("a100").peak("tensor", "float16")
    assert str(caught.value) == (
        "no engine 'tensor' at dtype 'float16': expected 'tensor' or 'vector' and one of "
        "fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4; correct the call"
    )


def test_ridge_point(tmp_path: Path) -> None:
    mine = gpu(written(tmp_path / "mine.toml", MINE))
    assert mine.ridge("tensor", "bf16") == pytest.approx(208)  # 312e12 / 1.5e12
    assert gpu("a100_sxm_40").ridge("tensor", "bf16") == pytest.approx(200.6, abs=0.05)
    # 312e12 / 1.555e12 = 200.6


# Finding one


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("h200_sxm", "h200_sxm"),
        ("H200-SXM", "h200_sxm"),
        ("h200", "h200_sxm"),
        ("NVIDIA H200", "h200_sxm"),
        ("NVIDIA H100 80GB HBM3", "h100_sxm"),
        ("a100", "a100_sxm_80"),
        ("NVIDIA A100-SXM4-80GB", "a100_sxm_80"),
        ("NVIDIA A100-SXM4-40GB", "a100_sxm_40"),
        ("NVIDIA A100 80GB PCIe", "a100_pcie_80"),
        ("nvidia geforce rtx 4090", "rtx4090"),
        ("4090", "rtx4090"),
        ("v100", "v100_sxm2_16"),
        ("Tesla V100-SXM2-16GB", "v100_sxm2_16"),
        ("Tesla T4", "t4"),
        ("NVIDIA A10G", "a10g"),
        ("NVIDIA GH200 480GB", "gh200"),
        ("Tesla P100-PCIE-16GB", "p100_pcie_16"),
        ("NVIDIA GeForce RTX 2080 Ti", "rtx2080ti"),
        ("H100 SXM5 80GB", "h100_sxm"),
    ],
)
def test_names(name: str, expected: str) -> None:
    assert gpu(name).id == expected


def test_aliases_are_unique() -> None:
    names = [name.lower().replace("_", "-") for g in gpus() for name in (g.id, *g.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "h210",
            "unknown GPU 'h210': did you mean 'h20' or 'h200'? "
            f"`ridgepoint gpus` lists all {len(IDS)}",
        ),
        ("zz", f"unknown GPU 'zz': `ridgepoint gpus` lists all {len(IDS)}"),
        ("", f"unknown GPU '': `ridgepoint gpus` lists all {len(IDS)}"),
        (
            "NVIDIA A17",
            "unknown GPU 'NVIDIA A17': did you mean 'NVIDIA A16' or 'NVIDIA A10'? "
            f"`ridgepoint gpus` lists all {len(IDS)}",
        ),
    ],
)
def test_unknown_name(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        gpu(name)
    assert str(caught.value) == message


def test_a_name_inside_another_does_not_match() -> None:
    for name in ("NVIDIA", "H100 SXM ", "a100 sxm 40", "x" * 100_000):
        with pytest.raises(InputError, match="unknown GPU"):
            gpu(name)


# Speed


def test_reading_all_takes_little_longer_than_parsing_their_text() -> None:
    """Parsing takes two thirds of the time."""
    from simulator.hardware import gpu as hardware

    texts = [path.read_text(encoding="utf-8") for path in PACKAGED.glob("*.toml")]
    ratios: list[float] = []
    for _ in range(5):
        hardware._parsed.cache_clear()  # pyright: ignore[reportPrivateUsage]
        start = time.process_time()
        for text in texts:
            tomllib.loads(text)
        parsed = time.process_time()
        gpus()
        ratios.append((time.process_time() - parsed) / (parsed - start))
    assert min(ratios) < 2


def test_an_id_reads_one_file_and_no_torch() -> None:
    code = (
        "import sys; from simulator.hardware import gpu as hardware; hardware.gpu('h200-sxm'); "
        "print(hardware._parsed.cache_info().currsize, 'torch' in sys.modules)"
    )
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout == "1 False\n"


def test_each_name_reads_the_files_that_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = gpus()

    def all_files() -> None:
        raise AssertionError("all files are read")

    monkeypatch.setattr("simulator.hardware.gpu.gpus", all_files)
    for one in everything:
        for name in (one.id, *one.aliases, one.name):
            assert gpu(name) is one
            assert gpu(name.upper().replace("-", "_")) is one


def test_an_alias_reads_the_packaged_files_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu("h200").id == "h200_sxm"
    monkeypatch.setattr(Path, "read_text", None)
    assert gpu("H200").id == "h200_sxm"
