from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from calibration import cuda
from calibration.cuda import (
    arithmetic,
    launch,
    memory,
    special_functions,
    warp_matrices,
    warpgroup_matrices,
)
from calibration.cuda.compile import Kernel, with_macros
from calibration.cuda.traffic import Traffic, ceil_div
from calibration.measure.log import read
from calibration.sweeps.registry import OPERATIONS, Point

SMS = 132  # of an H200
NAMES = [name for name, each in OPERATIONS.items() if name.startswith("cuda_")]
POINTS = [point for name in NAMES for point in OPERATIONS[name].points]
MEASURED = Path(memory.__file__).parents[1] / "measurements" / "h200_sxm" / "samples.jsonl.gz"
MODULES = (launch, memory, arithmetic, special_functions, warp_matrices, warpgroup_matrices)


def test_copy_moves_its_array_twice() -> None:
    traffic = memory.copy_traffic(SMS, array_bytes=4096, blocks_per_sm=8, threads=256, vectors=4)
    assert traffic == Traffic(4096, 4096)
    assert traffic.bytes == 8192


def test_triad_reads_two_arrays_and_multiplies_and_adds_each_element() -> None:
    traffic = memory.triad_traffic(SMS, array_bytes=4096, blocks_per_sm=8, threads=256, vectors=2)
    assert traffic == Traffic(8192, 4096, flops=2048)  # 4096/4 = 1024 elements, 2 FLOPs each


def test_read_writes_one_word_a_thread() -> None:
    # 2²⁰ bytes are 65536 vectors, 1024 per block and pass: 64 blocks, fewer than 132
    traffic = memory.read_traffic(SMS, array_bytes=2**20, blocks_per_sm=1, threads=256, vectors=4)
    assert traffic == Traffic(2**20, 65536)  # 64·256·4


def test_fma_chains_count_two_flops_an_element_and_repeat() -> None:
    traffic = arithmetic.fma_traffic(10, dtype="fp32", chains=4, warps_per_sm=8, repeats=64)
    # 10·8·32 = 2560 threads with 4 registers each: 10240 registers of 4 bytes
    assert traffic == Traffic(40960 + 8, 40960, flops=1310720)  # 2·10240·64
    packed = arithmetic.fma_traffic(10, dtype="bf16", chains=4, warps_per_sm=8, repeats=64)
    assert packed == Traffic(40960 + 8, 40960, flops=2621440)  # two elements per register
    wide = arithmetic.fma_traffic(10, dtype="fp64", chains=4, warps_per_sm=8, repeats=64)
    assert wide == Traffic(81920 + 16, 81920, flops=1310720)


@pytest.mark.parametrize(
    ("dtype", "scalars", "flops"), [("fp32", 8, 1536), ("fp64", 16, 768), ("bf16", 8, 3072)]
)
def test_intensity_grows_with_the_repeats(dtype: str, scalars: int, flops: int) -> None:
    # 1024 bytes are 256 elements of fp32: 256·2·3 = 1536 FLOPs
    traffic = arithmetic.intensity_traffic(SMS, dtype=dtype, repeats=3, array_bytes=1024)
    assert traffic == Traffic(1024 + scalars, 1024, flops=flops)


def test_special_functions_are_counted_apart_from_flops() -> None:
    traffic = special_functions.function_traffic(
        10, function="exp", fast=True, warps_per_sm=4, repeats=7
    )
    # 10·4·32 = 1280 threads of 4 chains are 5120 chains: 5120·7 = 35840 evaluations
    assert traffic == Traffic(20484, 20480, flops=71680, functions=35840)


def test_warp_mma_counts_its_instruction() -> None:
    traffic = warp_matrices.mma_traffic(10, dtype="bf16", chains=2, warps_per_sm=4, repeats=3)
    # 40 warps · 2 chains · 3 · (2·16·8·16 = 4096) = 983040 FLOPs; reads 40·(16 + 2·8)·32 = 40960
    # bytes; writes 40·2·128·4 = 40960
    assert traffic == Traffic(40960, 40960, flops=983040)
    tf32 = warp_matrices.mma_traffic(10, dtype="tf32", chains=2, warps_per_sm=4, repeats=3)
    assert tf32.flops == 491520  # k is 8
    int8 = warp_matrices.mma_traffic(10, dtype="int8", chains=2, warps_per_sm=4, repeats=3)
    assert int8.flops == 1966080  # k is 32


def test_warpgroup_mma_counts_four_instructions_a_repeat() -> None:
    traffic = warpgroup_matrices.wgmma_traffic(
        10, dtype="bf16", columns=256, blocks_per_sm=1, repeats=3
    )
    # 10 · 3 · 4 · (2·64·256·16 = 524288) = 62914560 FLOPs; reads 10·(64 + 256)·128 = 409600 bytes;
    # writes 10·64·256·4 = 655360
    assert traffic == Traffic(409600, 655360, flops=62914560)


def test_empty_kernels_do_nothing_and_chains_repeat() -> None:
    assert launch.empty_traffic(SMS, blocks=5, threads=32) == Traffic(0, 0)
    assert launch.chain_traffic(SMS, kernels=3, array_bytes=4096) == Traffic(12288, 12288, 3072)


def test_a_grid_covers_the_array_once_but_stays_under_its_limit() -> None:
    # 2²⁰/16 = 65536 vectors, a block takes 256·4 = 1024 of them
    assert memory.grid(SMS, 2**20, blocks_per_sm=0, threads=256, vectors=4) == 64
    assert memory.grid(SMS, 2**20 + 16, blocks_per_sm=0, threads=256, vectors=4) == 65
    assert memory.grid(SMS, 2**30, blocks_per_sm=2, threads=256, vectors=4) == 264  # 2·132
    assert memory.grid(SMS, 16, blocks_per_sm=8, threads=256, vectors=4) == 1
    assert [ceil_div(n, 4) for n in (1, 4, 5)] == [1, 1, 2]


def test_a_size_that_no_vector_divides_is_refused() -> None:
    with pytest.raises(ValueError, match="array_bytes=100: expected a multiple of 16"):
        memory.grid(SMS, 100, blocks_per_sm=0, threads=256, vectors=4)


def test_repeats_that_the_unrolling_would_round_are_refused() -> None:
    with pytest.raises(
        ValueError, match="repeats=33: expected a multiple of 32; warps_per_sm=6: a multiple of 4"
    ):
        arithmetic.cuda_fma_chains("fp32", chains=1, warps_per_sm=6, repeats=33)


def test_every_operation_is_of_the_kind_and_states_its_traffic() -> None:
    assert set(NAMES) == set(cuda.TRAFFIC)
    assert {OPERATIONS[name].kind for name in NAMES} == {"cuda"}
    assert 200 <= len(POINTS) <= 300


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_every_point_has_a_traffic_short_enough_to_time(point: Point) -> None:
    traffic = cuda.TRAFFIC[point.operation](SMS, **point.params)
    assert isinstance(traffic.bytes + traffic.flops, int)
    assert traffic.read_bytes >= 0 and traffic.written_bytes >= 0
    assert traffic.bytes <= 6 * 2**30  # 2 ms at 3 TB/s
    assert traffic.flops <= 2 * 10**12  # 2 ms at 1 PFLOP/s


def test_bytes_in_flight_span_two_orders_of_magnitude() -> None:
    limited = [each for each in memory.OCCUPANCIES if each[0]]
    in_flight = [blocks * threads * vectors * 16 for blocks, threads, vectors in limited]
    assert len(set(memory.OCCUPANCIES)) == len(memory.OCCUPANCIES)
    assert (min(in_flight), max(in_flight)) == (512, 131072)
    assert all(blocks * threads <= 2048 for blocks, threads, _ in limited)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (launch.SOURCE, ["empty", "increment"]),
        (memory.SOURCE, ["copy", "triad", "read"]),
        (arithmetic.SOURCE, ["fma_chains", "intensity"]),
        (special_functions.SOURCE, ["evaluate"]),
        (warp_matrices.SOURCE, ["warp_mma"]),
        (warpgroup_matrices.SOURCE, ["warpgroup_mma"]),
    ],
)
def test_sources_hold_the_entry_points_and_include_nothing(source: str, names: list[str]) -> None:
    matches = re.findall(
        r'extern "C" __global__ void\s+(?:__launch_bounds__\(\d+\)|BOUNDS)?\s*(\w+)\(', source
    )
    assert matches == names
    assert "#include" not in source  # a GPU machine may have no toolkit
    assert source.count("{") == source.count("}")


def test_each_requested_entry_point_exists() -> None:
    for module in MODULES:
        text = Path(module.__file__).read_text()
        kernels = re.findall(r'kernel\(\s*SOURCE,\s*"(\w+)"', text)
        assert kernels
        for name in kernels:
            assert re.search(rf"\b{name}\(", module.SOURCE), name


def test_macros_are_before_the_source() -> None:
    assert with_macros("x\n", dict(N=4, TEXT='"a, b"')) == '#define N 4\n#define TEXT "a, b"\nx\n'


@pytest.mark.parametrize("dtype", list(warpgroup_matrices.FORMS))
def test_a_wgmma_instruction_names_every_sum_and_both_descriptors(dtype: str) -> None:
    text = warpgroup_matrices.instruction(dtype, 64)
    assert f"m64n64k{warpgroup_matrices.FORMS[dtype][1]}." in text
    assert re.findall(r"d\[(\d+)\]", text) == [str(i) for i in range(32)]  # 64·64/128 per thread
    assert "%31}, %32, %33, p" in text
    assert text.endswith(': "l"(a), "l"(b)')


def test_an_instruction_takes_32_bytes_of_a_row() -> None:
    for itemsize, depth, *_ in warpgroup_matrices.FORMS.values():
        assert itemsize * depth == 32
    for kind, shape, *_ in warp_matrices.FORMS.values():
        assert kind.itemsize * int(shape.split("k")[1]) == 32


def test_tf32_operands_have_ten_bits_of_mantissa() -> None:
    torch.manual_seed(0)
    bits = warp_matrices.random_matrix("tf32", 8, 8).view(torch.int32)
    assert (bits & 0x1FFF == 0).all()
    assert bits.unique().numel() > 32


def _measured() -> list[dict]:
    return [s for s in read(MEASURED).samples.values() if s["point"]["operation"] in cuda.TRAFFIC]


def test_every_point_was_measured_once_on_an_h200() -> None:
    names = [Point(**row["point"]).name for row in _measured()]
    assert sorted(names) == sorted(point.name for point in POINTS)


def test_no_measurement_beats_the_data_sheet() -> None:
    # NVIDIA's H200: 4.8 TB/s; 67 TFLOP/s fp32, 34 fp64; dense tensor cores 989 fp16 and bf16,
    # 494 tf32, 1979 fp8 and int8. Its clock of 1.98 GHz is above the sheet's for tensor cores.
    vector = {"fp32": 67e12, "fp64": 34e12, "fp16": 134e12, "bf16": 134e12}
    matrix = {"bf16": 989e12, "fp16": 989e12, "tf32": 494e12, "fp8": 1979e12, "int8": 1979e12}
    for row in _measured():
        name, params = row["point"]["operation"], row["point"]["params"]
        did, median_s = cuda.TRAFFIC[name](SMS, **params), row["warm"]["median_s"]
        if params.get("array_bytes", 0) >= 2**28:
            assert did.bytes / median_s < 4.8e12, row
        peak = matrix if name.endswith("_mma") else vector
        if "dtype" in params:
            assert did.flops / median_s < peak[params["dtype"]], row
        # an SM evaluates at most 16 per clock
        assert did.functions / median_s < SMS * 16 * 1.98e9, row
        assert row["warm"]["relative_iqr"] < 0.05


def test_measured_ceilings_are_near_the_data_sheet() -> None:
    best: dict[tuple[str, str], float] = {}
    for row in _measured():
        name, params = row["point"]["operation"], row["point"]["params"]
        did = cuda.TRAFFIC[name](SMS, **params)
        if "dtype" in params:
            key = name, params["dtype"]
            best[key] = max(best.get(key, 0.0), did.flops / row["warm"]["median_s"])
    assert best["cuda_fma_chains", "fp32"] > 0.95 * 67e12
    assert best["cuda_warpgroup_mma", "bf16"] > 0.9 * 989e12
    # mma.sync is slower than wgmma on this GPU
    assert best["cuda_warp_mma", "bf16"] < 0.75 * best["cuda_warpgroup_mma", "bf16"]


def test_without_cuda_a_kernel_names_the_missing_part() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises((RuntimeError, AssertionError), match=r"CUDA|NVIDIA"):
        Kernel(launch.SOURCE, "empty")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("check", cuda.CHECKS, ids=lambda check: check.__module__)
def test_kernels_agree_with_torch(check) -> None:
    check("cuda")
