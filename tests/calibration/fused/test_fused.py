"""Fused Triton kernels: correct on irregular shapes, with hand-computed traffic, and their chains
by name. `python -m calibration.fused.check` names wrong kernels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("triton", reason="Triton is made for Linux alone")

from calibration.fused import VARIANTS, dropout_add, tile
from calibration.fused.check import LIMIT
from calibration.fused.variant import Variant, variant
from calibration.measure.log import read
from calibration.sweeps.registry import OPERATIONS
from simulator.fusion.scheduling import by_hand

ROOT = Path(__file__).parents[3]
NAMES = list(VARIANTS)


@pytest.fixture(scope="module")
def checked() -> list[dict[str, Any]]:
    """The results of every kernel's check, on a GPU if there is one, else in Triton's interpreter,
    which must be chosen before Triton is imported.
    """
    interpreted = {} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "calibration.fused.check"],
        cwd=ROOT,
        env={**os.environ, **interpreted},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_kernel_equals_its_reference_on_irregular_shapes(
    name: str, checked: list[dict[str, Any]]
) -> None:
    lines = [line for line in checked if line["variant"] == name]
    dtypes = {line["params"]["dtype"] for line in lines}
    assert dtypes >= {"fp32", "fp16"}
    assert len(lines) == len(dtypes) * len(VARIANTS[name].irregular)
    for line in lines:
        assert line["error"] <= LIMIT[line["params"]["dtype"]], line


CHAINS = {
    "pointwise_chain": (dict(size=8, ops=4), "mul sub sigmoid mul"),
    "bias_gelu": (dict(rows=2, cols=3), "add gelu"),
    "add_layer_norm": (dict(rows=2, cols=3), "add native_layer_norm"),
    "rms_norm": (dict(rows=2, cols=3), "_to_copy pow mean add rsqrt mul _to_copy mul"),
    "swiglu": (dict(rows=2, hidden=3), "silu mul"),
    "softmax": (dict(heads=2, queries=3, keys=4), "mul add _softmax"),
    "dropout_add": (dict(size=8, p=0.5), "native_dropout add"),
    "rotary": (dict(batch=1, seq=2, heads=3, dim=4), "neg cat mul mul add"),
    "cross_entropy": (dict(rows=2, vocabulary=5), "_to_copy _log_softmax nll_loss_forward"),
    "gemm_gelu": (dict(rows=2, cols=3, inner=4), "addmm gelu"),
    "adamw": (dict(size=8), "mul_ lerp_ mul_ addcmul_ sqrt div add_ addcdiv_"),
    "flash_attention": (
        dict(batch=1, heads=2, seq=3, dim=16, causal=True),
        "bmm mul masked_fill _softmax bmm",
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_chain_that_is_replaced(name: str) -> None:
    params, ops = CHAINS[name]
    assert VARIANTS[name].chain(**params, dtype="bf16") == tuple(ops.split())


TRAFFIC = {
    # reads and writes 8·2 bytes; 7 FLOPs: 4 for the sigmoid, and a multiplication, a subtraction
    # and a multiplication
    "pointwise_chain": (dict(size=8, ops=4), 32, 8 * 7),
    # reads 6 numbers and 3 of bias, writes 6: 15·2 bytes; 6 FLOPs for each of 6 numbers
    "bias_gelu": (dict(rows=2, cols=3), 30, 36),
    # reads or writes 4·6 + 2·3 = 30 numbers; 8 FLOPs for each of 6
    "add_layer_norm": (dict(rows=2, cols=3), 60, 48),
    # 2·6 + 3 numbers; 4 FLOPs for each of 6
    "rms_norm": (dict(rows=2, cols=3), 30, 24),
    # reads 12 numbers, writes 6; 5 FLOPs for each of 6
    "swiglu": (dict(rows=2, hidden=3), 36, 30),
    # reads 24 numbers and 12 of the mask, writes 24; 7 FLOPs for each of 24
    "softmax": (dict(heads=2, queries=3, keys=4), 120, 168),
    # reads 16 numbers, writes 8; 3 FLOPs for each of 8
    "dropout_add": (dict(size=8, p=0.5), 48, 24),
    # reads 24 numbers, writes 24, and reads 2·4 numbers of angles twice; 3 FLOPs for each of 24
    "rotary": (dict(batch=1, seq=2, heads=3, dim=4), 128, 72),
    # reads 10 numbers of 2 bytes and two targets of 8, writes two losses of 4; 4 FLOPs for each
    # number
    "cross_entropy": (dict(rows=2, vocabulary=5), 44, 40),
    # 2·4 + 3·4 + 3 + 2·3 = 29 numbers; 2·2·3·4 FLOPs
    "gemm_gelu": (dict(rows=2, cols=3, inner=4), 58, 48),
    # reads 4·8 numbers, writes 3·8; 14 FLOPs for each of 8
    "adamw": (dict(size=8), 112, 112),
    # four tensors of 1·2·3·16 numbers; two heads with 1 + 2 + 3 pairs, and two products of 2·16
    # FLOPs each
    "flash_attention": (dict(batch=1, heads=2, seq=3, dim=16, causal=True), 768, 768),
}


@pytest.mark.parametrize("name", NAMES)
def test_traffic_by_hand(name: str) -> None:
    params, moved_bytes, flops = TRAFFIC[name]
    assert VARIANTS[name].traffic(**params, dtype="bf16") == (moved_bytes, flops)


@pytest.mark.parametrize("name", NAMES)
def test_traffic_is_that_of_operands_and_results(name: str) -> None:
    """At every point, the traffic is the operands that are read plus the results of the chain, as
    meta tensors.
    """
    variant = VARIANTS[name]
    for params in variant.points:
        with torch.device("meta"):
            operands = variant.operands(**params)
        result = variant.unfused(*operands)
        tensors = [*operands, *(result if isinstance(result, tuple) else [result])]
        if name == "flash_attention":
            tensors.pop(3)  # the mask, which the kernel draws itself
        whole = sum(t.nbytes for t in tensors if isinstance(t, torch.Tensor))
        assert variant.traffic(**params).moved_bytes == whole, params


@pytest.mark.parametrize("name", NAMES)
def test_both_sides_are_registered_at_the_same_points(name: str) -> None:
    variant = VARIANTS[name]
    kernel, chain = OPERATIONS[variant.fused_operation], OPERATIONS[variant.unfused_operation]
    assert (kernel.kind, chain.kind) == ("triton", "chain")
    assert [p.params for p in kernel.points] == [p.params for p in chain.points]
    assert 12 <= len(kernel.points) <= 24
    with torch.device("meta"):
        chain.points[0].make()()


def test_every_point_of_both_sides_was_measured_on_the_h200() -> None:
    measured: dict[str, float] = {}
    for log in ("fused", "samples"):
        measurements = read(ROOT / f"calibration/measurements/h200_sxm/{log}.jsonl.gz")
        assert measurements.header["gpu"] == "NVIDIA H200"
        measured |= {
            name: sample["warm"]["median_s"] for name, sample in measurements.samples.items()
        }
    sides = [s for v in VARIANTS.values() for s in (v.fused_operation, v.unfused_operation)]
    assert set(measured) >= {p.name for side in sides for p in OPERATIONS[side].points}
    for measurements in VARIANTS.values():
        for point in OPERATIONS[measurements.fused_operation].points:
            traffic = measurements.traffic(**point.params)
            # the data sheet's dense peak of the tensor cores, and more than the measured bandwidth
            # of L2
            peak_flops = 989.5e12 if measurements.matrix else 66.9e12
            assert traffic.flops / measured[point.name] < peak_flops
            assert traffic.moved_bytes / measured[point.name] < 10e12


def test_a_second_variant_of_a_name_raises() -> None:
    first = VARIANTS["swiglu"]
    again = variant(
        unfused=first.unfused,
        operands=first.operands,
        traffic=first.traffic,
        points=[],
        irregular=[],
    )
    with pytest.raises(ValueError, match="swiglu is already a variant"):
        again(first.fused)


def _with(fused: Any) -> Variant:
    return Variant(
        "twice",
        fused,
        lambda x: 2 * x,
        lambda x: 2 * x,
        lambda dtype: (torch.randn(100),),
        VARIANTS["swiglu"].traffic,
        (),
        (),
    )


def test_the_error_is_of_the_worst_element() -> None:
    def off(x: torch.Tensor) -> torch.Tensor:
        y = 2 * x
        y[77] += 1
        return y

    torch.manual_seed(0)
    assert _with(lambda x: x + x).relative_error(dtype="fp32") < 1e-7
    assert 0.1 < _with(off).relative_error(dtype="fp32") < 1
    missed = _with(lambda x: torch.full_like(x, torch.nan)).relative_error(dtype="fp32")
    assert not missed <= LIMIT["bf16"]
    with pytest.raises(ValueError, match="shapes of kernel and reference differ"):
        _with(lambda x: x[:-1]).relative_error(dtype="fp32")


def test_philox_of_the_reference_gives_the_published_words(monkeypatch: Any) -> None:
    """Random123's known-answer file: philox4x32 10, counter 0, key 0."""
    monkeypatch.setattr(dropout_add, "SEED", 0)
    words = [int(w) for w in dropout_add._philox(torch.tensor([0]))]
    assert words == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_dropout_keeps_its_share() -> None:
    uniform = dropout_add.uniform(200_000, torch.device("cpu"))
    assert uniform.min() >= 0 and uniform.max() < 1
    for p in (0.1, 0.5, 0.9):
        # the deviation of a mean of 200,000 draws is at most 0.0011
        assert float((uniform > p).double().mean()) == pytest.approx(1 - p, abs=0.0055)


@pytest.mark.parametrize("cols", [1, 2, 77, 128, 1000, 1024, 1025, 8192, 16384])
def test_tiles_are_powers_of_two_that_hold_a_row(cols: int) -> None:
    whole, part = tile.whole_rows(cols), tile.patch(cols)
    for size in (*whole, *part):
        assert size & (size - 1) == 0
    assert whole.cols >= cols > whole.cols // 2
    assert whole.rows * whole.cols == max(2048, whole.cols)
    assert part.rows * part.cols == 1024
    # the simulator knows these cuts without Triton
    rows, elements = 3 * whole.rows, 3 * 1024
    assert by_hand.programs(rows * cols, rows, cols) == (3, rows * whole.cols)
    assert by_hand.programs(elements, 0, 0) == (3, 3 * part.rows * part.cols)
