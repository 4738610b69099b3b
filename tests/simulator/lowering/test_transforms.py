"""cuFFT's kernels by length, as an H200 launched them."""

from __future__ import annotations

from typing import Any

import pytest

from calibration.measure.log import read
from calibration.record.library_samples import lowered
from calibration.record.read import MEASUREMENTS
from calibration.sweeps import OPERATIONS
from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.lowering.transforms import transform
from simulator.records import Signature
from simulator.tracing import trace_call

CARD = gpu("h200")
CALL = Signature("aten._fft_c2c.default", (), (), (), {})


def kernels(kind: str, *lengths: int, batch: int = 1) -> list[tuple[str, int]]:
    dims: dict[str, Any] = {
        "kind": kind,
        "lengths": lengths,
        "batch": batch,
        "item_bytes": 8,
        "apart": False,
    }
    works = transform(CALL, Work("fft", dims=dims), CARD)
    return [(work.dims["variant"], work.dims.get("length", 0)) for work in works]


@pytest.mark.parametrize(
    "length, expected",
    [
        (4096, [("complex", 4096)]),
        (41, [("prime", 41)]),
        # 2 · 2,039 − 1 = 4,077 is padded to 4,096
        (2039, [("bluestein", 4096)]),
        (131072, [("factor", 256), ("factor", 512)]),
        # 403,200 = 2⁸ · 3² · 5² · 7
        (403200, [("factor", 7), ("factor", 9), ("factor", 25), ("factor", 256)]),
        # 2,985,984 = 2¹² · 3⁶; 2¹² is the largest power of 2 that is one factor
        (2985984, [("factor", 729), ("factor", 4096)]),
        # at least 2 · 524,287 − 1: 2²⁰, transformed forward and back
        (524287, [("factor", 1024)] * 4),
        # at least 46,077: 2¹⁰ · 3² · 5 = 46,080
        (23039, [("factor", 5), ("factor", 9), ("factor", 1024)] * 2),
    ],
)
def test_a_complex_length_is_the_kernels_that_its_primes_say(
    length: int, expected: list[tuple[str, int]]
) -> None:
    assert kernels("c2c", length) == expected


def test_a_real_length_is_one_kernel_or_half_as_many_complex_numbers() -> None:
    assert kernels("r2c", 1024) == [("real", 1024)]
    assert kernels("r2c", 2450) == [("complex", 1225), ("turn", 0)]
    assert kernels("r2c", 1875) == [("turn", 0), ("complex", 1875), ("turn", 0)]
    # a prime up to 31 with other factors, or up to 127 alone; 37 · 2 real numbers are 37 complex
    # ones
    assert kernels("r2c", 62) == [("real", 62)] and kernels("r2c", 127) == [("prime", 127)]
    assert kernels("r2c", 74)[-1] == ("turn", 0)
    assert kernels("c2r", 2100) == [("turn", 0), ("complex", 1050)]


def test_columns_follow_rows_on_the_way_there_and_lead_on_the_way_back() -> None:
    assert kernels("r2c", 64, 256) == [("real", 256), ("column", 64)]
    assert kernels("c2r", 64, 256) == [("column", 64), ("real", 256)]


def test_bytes_of_a_pass_are_those_of_its_sequences() -> None:
    dims: dict[str, Any] = {
        "kind": "r2c",
        "lengths": (2450,),
        "batch": 3,
        "item_bytes": 8,
        "apart": False,
    }
    passed, turned = transform(CALL, Work("fft", dims=dims), CARD)
    # 3 · 1,225 · 8 = 29,400 bytes; with 1,226 columns 29,424
    assert (passed.read_bytes, passed.write_bytes) == (29400, 29400)
    assert (turned.read_bytes, turned.write_bytes) == (29400, 29424)
    # ten instructions for each of 3 · 1,226 numbers
    assert (turned.flops, turned.instructions) == (0, 36780)


def test_nine_transforms_of_ten_launch_as_many_kernels_as_were_recorded() -> None:
    measured = read(MEASUREMENTS / CARD.id / "kernels.jsonl.gz").samples
    points = [p for p in OPERATIONS["fourier"].points[::4] if p.name in measured]
    pairs = [lowered(p, trace_call(p.make), measured[p.name], CARD) for p in points]
    alike = sum(len(each.launches) == len(each.kernels) for each in pairs)
    assert alike >= 0.88 * len(points) > 60
