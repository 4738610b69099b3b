"""Transfer of one GPU's measurements to another: hand-computed sums, and public measurements."""

from __future__ import annotations

import csv
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.lowering import launches
from simulator.records import Signature, Tensor, row_major
from simulator.timing.kernel_models import roofline_terms
from simulator.timing.profile import profile
from simulator.timing.rates import dram_bytes_per_s, l2_kept_bytes
from simulator.timing.roofline import roofs
from simulator.timing.transfer import (
    dram_share,
    issue,
    issuing,
    l2_share,
    loaded_beside,
    tiles_of,
    traffic_of,
    transfer_slowdown,
)
from simulator.timing.work_columns import group

H200 = gpu("h200")
TENSOR, LANES = np.array([True]), np.array([False])


def rate(share: float, here: str, dtype: str = "fp16") -> float:
    """FLOP/s on a GPU of a kernel that reaches this share of the H200's peak."""
    there = np.array([H200.peak("tensor", dtype) or 0.0])
    peak = np.array([gpu(here).peak("tensor", dtype) or 0.0])
    return float((peak * share / transfer_slowdown(share, TENSOR, peak, there, gpu(here), H200))[0])


@pytest.mark.parametrize("share", [0.03, 0.3, 0.85, 1.0])
def test_a_share_stays_on_the_gpu_that_was_measured(share: float) -> None:
    assert rate(share, "h200") == H200.peak("tensor", "fp16") * share  # pyright: ignore[reportOptionalOperand]
    assert dram_share(share, H200, profile()) == share
    assert l2_share(share, H200, profile()) == share
    assert issue(H200, profile()) == 1.0


def test_kernels_far_below_the_peak_take_equal_clocks_on_other_cards() -> None:
    # 1% of the H200's 989.4 TFLOP/s, by 132 units at 1980 MHz; a 3090 has 82 at 1695 MHz, and its
    # peak of 71 TFLOP/s takes a tenth as long: 9.894 · (82 · 1695) / (132 · 1980) = 5.26 TFLOP/s
    assert rate(0.01, "rtx3090") == pytest.approx(5.26e12, rel=0.03)


def test_kernels_at_the_power_limit_reach_that_of_another_card() -> None:
    # the power limit leaves the H200 0.85 of its peak; a 3090 reaches its full 71 TFLOP/s
    assert rate(0.85, "rtx3090") == pytest.approx(71e12)
    # an L40S reaches 0.63 of 362
    assert rate(0.85, "l40s") == pytest.approx(0.63 * 362e12)


def test_both_together_take_longer_than_either() -> None:
    # half the peak: a FLOP takes 2 of the peak's times, 1/0.85 = 1.176 of them the engine's, and
    # (2^1.5 - 1.176^1.5)^(2/3) = (2.828 - 1.276)^(2/3) = 1.341 the rest.
    # On a 3090 the rest takes 1.341 / 989.4e12 · (132 · 1980) / (82 · 1695) = 2.549e-15 s, the
    # engine 1 / 71e12 = 14.08e-15 s: (14.08^1.5 + 2.549^1.5)^(2/3) = (52.85 + 4.07)^(2/3) = 14.80
    assert rate(0.5, "rtx3090") == pytest.approx(1 / 14.80e-15, rel=1e-3)


def test_more_flops_a_clock_come_with_kernels_that_keep_up() -> None:
    b200 = gpu("b200")
    # the engine's part takes 0.85 / 0.82 as long; the rest takes as long for each FLOP of the peak
    assert 0.95 < rate(0.5, "b200") / (0.5 * (b200.peak("tensor", "fp16") or 0.0)) < 1.0


def test_bytes_in_flight_fill_a_narrow_memory() -> None:
    # 0.38 of 4800 GB/s: 1/0.38 = 2.632 of the full bandwidth's times, 1/0.91 = 1.099 the best
    # kernel's, (2.632² - 1.099²)^½ = 2.391 in flight. On a 4090 these take
    # 2.391 · (1008 / 4800) · (132 · 1980) / (128 · 2520) = 0.4068 of the full bandwidth's times:
    # 1 / (1.099² + 0.4068²)^½ = 0.853 of it, · 0.94 / 0.91 for the card = 0.881
    assert dram_share(0.38, gpu("rtx4090"), profile()) == pytest.approx(0.881, abs=1e-3)
    # the share stays the same at twice the bandwidth per SM: kernels have more bytes in flight
    assert dram_share(0.38, gpu("b200"), profile()) == pytest.approx(0.38)


def test_l2_share_on_other_cards() -> None:
    # a kernel that uses all of the L2 bandwidth waits on no card
    assert l2_share(1.0, gpu("a100"), profile()) == pytest.approx(1.0)
    assert l2_share(0.3, gpu("l40s"), profile()) > 0.5  # 5.2 TB/s for 142 SMs, 9.8 for 132


def test_integer_lanes_with_half_the_fp32_lanes() -> None:
    assert issue(gpu("a100"), profile()) == pytest.approx(1.4)
    assert issue(gpu("rtx3090"), profile()) == 1.0  # 128 FP32 lanes per SM, as in the H200
    assert issue(gpu("t4"), profile()) == pytest.approx(1.4 * 0.45)  # and the power limit


def test_loads_take_half_the_turns_where_a_unit_has_half_the_lanes() -> None:
    assert loaded_beside(H200, profile()) == 1.0
    assert loaded_beside(gpu("rtx4090"), profile()) == 1.0  # 128 lanes per SM, as in the H200
    for half in ("v100", "t4", "a100", "p100"):  # 64
        assert loaded_beside(gpu(half), profile()) == pytest.approx(0.5, rel=0.02)


def test_instructions_take_more_clocks_where_a_unit_has_half_the_lanes() -> None:
    # half of the instructions, on half the FP32 lanes: 1 / (0.5 · 1.4); a P100 has no other lanes
    assert issuing(gpu("a100"), profile()) == pytest.approx(1 / 0.7, rel=0.02)
    assert issuing(gpu("p100"), profile()) == pytest.approx(2, rel=0.02)
    for all_lanes in ("h200", "h100", "l40s", "b200"):
        assert issuing(gpu(all_lanes), profile()) == 1.0


def attention_s(width: int, card: str) -> float:
    """Seconds in which 148 heads with 16,896 queries and keys compute: 148 · 132 blocks, the same
    number on each multiprocessor of an H200 and of a B200; waves have no start and no end."""
    heads = replace(profile().tiles["attention_cudnn_fwd"], wave_s=0.0)
    known = replace(profile(), tiles={**profile().tiles, "attention_cudnn_fwd": heads})
    x = tensor(1, 148, 132 * 128, width, dtype="bfloat16")
    outs = (x, tensor(1, 148, 132 * 128))
    name = "aten._scaled_dot_product_cudnn_attention.default"
    op = Signature(name, (x, x, x), outs, ("query", "key", "value"), {})
    (work,) = [w for w in launches(op, gpu(card)) or () if w.family == "attention"]
    terms = roofline_terms(group([work], ["attention_cudnn_fwd"]), gpu(card), known)
    return float(terms.compute_s[0])


def test_exponentials_take_as_many_clocks_with_faster_tensor_cores() -> None:
    def exponentials(card: str) -> float:
        """Clocks: products of width 128 take twice as long as of 64; exponentials the same time."""
        seconds = 2 * attention_s(64, card) - attention_s(128, card)
        return seconds * (gpu(card).units or 0) * (gpu(card).boost_hz or 0.0)

    assert exponentials("b200") == pytest.approx(exponentials("h200"), rel=1e-6)
    # 148 · 132² tiles of 128 × 128, each about 16,384 / 16 clocks: an SM does 16 per clock
    assert exponentials("h200") / (148 * 132**2) == pytest.approx(1024, rel=0.15)


def test_an_a100_has_one_tile_for_batches_in_single_precision() -> None:
    def seconds(card: str, wide: int, batch: int) -> float:
        x, y = tensor(batch, 512, 64), tensor(batch, 64, wide)
        op = Signature(
            "aten.bmm.default", (x, y), (tensor(batch, 512, wide),), ("self", "mat2"), {}
        )
        return float(roofs(launches(op, gpu(card)) or (), gpu(card), profile()).compute_s[0])

    assert seconds("a100", 16, 108) == pytest.approx(seconds("a100", 128, 108))
    assert seconds("v100", 16, 108) < 0.5 * seconds("v100", 128, 108)


def test_an_unmeasured_curve_follows_its_base_variant() -> None:
    known = profile().traffic
    assert traffic_of("norm_fused_rms", profile()) == known["norm_fused_rms"]
    assert traffic_of("norm_fused_other", profile()) == known["norm_fused"]
    assert traffic_of("unheard", profile()) == known["pointwise"]


def test_products_before_hopper_have_fewer_tiles_and_start_each_wave() -> None:
    bulk, copying = profile().tiles["gemm_tensor_half"], profile().tiles["gemm_tensor_half_4"]
    older = tiles_of("gemm_tensor_half", gpu("a100"), profile())
    assert older is not None
    assert min(map(min, older.shapes)) == 64
    slower = 1980 / 1410  # clocks of the H200 and the A100
    assert older == replace(
        bulk,
        shapes=older.shapes,
        wave_s=copying.wave_s * slower,
        split_s=bulk.split_s * slower,
        feed=copying.feed,
        fixed_s=copying.fixed_s,
    )
    assert tiles_of("gemm_tensor_half", gpu("b200"), profile()) == bulk
    assert tiles_of("conv_fwd", gpu("a100"), profile()) == profile().tiles["conv_fwd"]


def convolved(side: int, card: str, dtype: str = "float32", stride: int = 1) -> tuple[Work, ...]:
    """The kernels of 8 images of 64 channels, 32 × 32, convolved to 64 channels."""
    out = 32 // stride
    x, w = tensor(8, 64, 32, 32, dtype=dtype), tensor(64, 64, side, side, dtype=dtype)
    y = tensor(8, 64, out, out, dtype=dtype)
    args = {"stride": [stride] * 2, "padding": [side // 2] * 2, "dilation": [1, 1], "groups": 1}
    op = Signature("aten.convolution.default", (x, w), (y,), ("input", "weight"), args)
    return launches(op, gpu(card)) or ()


def test_winograd_where_single_precision_has_no_tensor_cores() -> None:
    image, weights, product, result = convolved(3, "v100")
    # 8 images of 8 × 8 patches of 4 × 4: 512 patches, each with 36 numbers per channel
    assert (image.read_bytes, image.write_bytes) == (8 * 64 * 32 * 32 * 4, 36 * 512 * 64 * 4)
    assert (weights.read_bytes, weights.write_bytes) == (64 * 64 * 9 * 4, 36 * 64 * 64 * 4)
    assert result.write_bytes == 8 * 64 * 32 * 32 * 4
    sizes = [product.dims[name] for name in ("batch", "positions", "columns", "depth")]
    assert sizes == [36, 512, 64, 64]
    # 36 · 512 · 64 · 64 multiplications instead of 8 · 1024 · 64 · 576
    assert product.instructions * 4 == 8 * 1024 * 64 * 576
    (plain,) = convolved(1, "v100")
    assert plain.dims["variant"] == "vector"
    assert plain.dims["depth"] == 64


def test_winograd_only_where_it_is_worth_its_transformations() -> None:
    # each channel's patches are moved to save 64 multiply-adds: memory takes longer
    x, w = tensor(8, 8, 32, 32), tensor(8, 8, 3, 3)
    args = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "groups": 1}
    op = Signature("aten.convolution.default", (x, w), (x,), ("input", "weight"), args)
    assert [kernel.dims["depth"] for kernel in launches(op, gpu("v100")) or ()] == [72]  # 8 · 9
    assert len(convolved(3, "v100", stride=2)) == 1


def test_volta_writes_planes_itself() -> None:
    def families(*of: int | str) -> list[str]:
        side, card, stride = of
        return [k.family for k in convolved(int(side), str(card), "float16", int(stride))]

    assert families(3, "v100", 1) == ["layout", "layout", "conv"]
    assert families(3, "a100", 1) == ["layout", "layout", "conv", "layout"]
    assert families(1, "t4", 2) == ["conv"]
    assert families(1, "a100", 2) == ["layout", "conv", "layout"]


def test_a_norm_reads_rows_again_that_a_small_l2_lost() -> None:
    def moved(cols: int, card: str) -> float:
        """How many times each of its elements is moved from or to DRAM."""
        x, one = tensor(16384, cols), tensor(16384, 1)
        args = {"normalized_shape": [cols], "eps": 1e-5}
        op = Signature("aten.native_layer_norm.default", (x,), (x, one, one), ("input",), args)
        held = roofs(launches(op, gpu(card)) or (), gpu(card), profile()).cold_s[0]
        stream = profile().traffic["norm_fused"].stream
        return held * dram_bytes_per_s(gpu(card), profile(), stream) / x.nbytes

    # A T4 reads and writes 320 rows at once: 320 · 2 · 4 · cols bytes, which are, of 0.9 · 4 MiB of
    # L2, 0.35 for 512 columns, 1.04 for 1536 ((1.04 - 0.6) / 0.9 = 0.49 is reread), 2.8 for 4096.
    assert moved(512, "t4") == pytest.approx(2, rel=0.01)
    assert moved(1536, "t4") == pytest.approx(2.49, rel=0.01)
    assert moved(4096, "t4") == pytest.approx(2 + 1, rel=0.01)
    # the H200 takes 1056 · 2 · 4 · 4096 / 31457280 = 1.1 of its L2: (1.1 - 0.6) / 0.9 = 0.56
    assert moved(4096, "h200") == pytest.approx(2.56, rel=0.01)


def test_an_l2_in_one_piece_keeps_more() -> None:
    assert l2_kept_bytes(H200, profile()) == 0.6 * 50 * 2**20
    assert l2_kept_bytes(gpu("l40s"), profile()) == 0.9 * 96 * 2**20


# Public measurements of kernels of 60 µs and more, for which launches do not matter


def tensor(*shape: int, dtype: str = "float32", stride: tuple[int, ...] = ()) -> Tensor:
    return Tensor(shape, dtype, stride or row_major(shape))


def signature(op: str, dtype: str, sizes: list[int]) -> Signature:
    if op == "add":
        x = tensor(*sizes, dtype=dtype)
        return Signature("aten.add.Tensor", (x, x), (x,), ("self", "other"), {})
    if op == "mm":
        m, n, k = sizes
        a, b = tensor(m, k, dtype=dtype), tensor(k, n, dtype=dtype, stride=(1, k))
        out = tensor(m, n, dtype=dtype)
        return Signature("aten.mm.default", (a, b), (out,), ("self", "mat2"), {})
    batch, heads, seq, width = sizes
    stride = (seq * heads * width, width, heads * width, 1)
    x = tensor(batch, heads, seq, width, dtype=dtype, stride=stride)
    name, outs = "aten._scaled_dot_product_flash_attention.default", (x, tensor(batch, heads, seq))
    return Signature(name, (x, x, x), outs, ("query", "key", "value"), {"is_causal": True})


@cache
def ratios() -> dict[tuple[str, str], list[float]]:
    """Predicted over measured, by GPU and op."""
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    with (Path(__file__).parent / "public_kernels.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            card = gpu(row["gpu"])
            sizes = [int(row[name]) for name in "abcd" if row[name]]
            op = signature(row["op"], row["dtype"], sizes)
            kernels = launches(op, card) or ()
            table = roofs(kernels, card, profile())
            compute, held, fixed = table.parts(np.zeros(len(kernels)), 0.5)
            took = float(np.sum(np.maximum(compute, held) + fixed))
            ratios[row["gpu"], row["op"]].append(took / (float(row["us"]) * 1e-6))
    return ratios


def test_public_kernels_on_each_gpu() -> None:
    medians = {key: float(np.median(each)) for key, each in ratios().items()}
    assert len(medians) == 11
    wide = {"attention": 0.3}  # in inference libraries, not in PyTorch
    off = {key: m for key, m in medians.items() if abs(m - 1) > wide.get(key[1], 0.12)}
    assert not off


def test_public_kernels_together() -> None:
    every = np.array([ratio for each in ratios().values() for ratio in each])
    assert len(every) == 74
    assert abs(float(np.median(every)) - 1) < 0.06
    assert float(np.quantile(np.abs(every - 1), 0.8)) < 0.17
