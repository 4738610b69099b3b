"""Convolutions for which cuDNN uses unusual kernels, against recordings on an H200."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.lowering import launches
from simulator.records import Signature, Tensor
from simulator.timing.profile import profile
from simulator.timing.roofline import roofs
from tests.simulator.costs.conftest import sig

H200, V100 = gpu("h200"), gpu("v100_pcie_16")


def conv(
    dtype: str, x: tuple[int, ...], w: tuple[int, ...], side: int, stride: int = 1, groups: int = 1
) -> Signature:
    spatial = len(x) - 2
    args: dict[str, Any] = {
        "stride": [stride] * spatial,
        "padding": [0] * spatial,
        "dilation": [1] * spatial,
        "transposed": False,
        "groups": groups,
    }
    output = ((x[0], w[0], *[side] * spatial), dtype)
    return sig("aten.convolution.default", output, None, args, input=(x, dtype), weight=(w, dtype))


def gradients(dtype: str, n: int, cin: int, cout: int) -> Signature:
    args = {"stride": [1, 1], "groups": 1, "output_mask": [True, True, False]}
    x, w, y = (n, cin, 1, 1), (cout, cin, 1, 1), (n, cout, 1, 1)
    return sig(
        "aten.convolution_backward.default",
        [(x, dtype), (w, dtype)],
        None,
        args,
        grad_output=(y, dtype),
        input=(x, dtype),
        weight=(w, dtype),
    )


def product(dtype: str, a: tuple[int, int], b: tuple[int, int], which: str) -> Signature:
    """A product of `a` and `b`; the letter t in `which` marks a transposed operand."""
    one = Tensor(a, dtype, (1, a[0]) if which[0] == "t" else (a[1], 1))
    other = Tensor(b, dtype, (1, b[0]) if which[1] == "t" else (b[1], 1))
    return sig("aten.mm.default", ((a[0], b[1]), dtype), None, self=one, mat2=other)


def kernels(op: Signature) -> list[Work]:
    return list(launches(op, H200) or ())


def seconds(op: Signature) -> float:
    works = kernels(op)
    times = roofs(works, H200, profile("h200"))
    return float(np.sum(times.parts(np.zeros(len(works)), 0.0).duration_s))


@pytest.mark.parametrize(("cin", "cout"), [(2112, 88), (64, 1024), (18, 216), (4, 96)])
def test_a_pixel_is_a_row_of_a_product(cin: int, cout: int) -> None:
    alone = kernels(conv("float16", (32, cin, 1, 1), (cout, cin, 1, 1), 1))
    assert alone == kernels(product("float16", (32, cin), (cin, cout), ".t"))
    assert alone[0].flops == 2 * 32 * cin * cout


@pytest.mark.parametrize(
    ("dtype", "depth", "steps"),
    [("float32", 576, 18), ("float32", 1024, 32), ("bfloat16", 4096, 128)],
)
def test_rows_of_pixels_are_multiplied_whole(dtype: str, depth: int, steps: int) -> None:
    """An H200 takes 7.1 µs for 16 pixels and 576 to 24 channels, in one kernel."""
    (alone,) = kernels(conv(dtype, (16, depth, 1, 1), (24, depth, 1, 1), 1))
    assert (alone.dims["variant"], alone.dims["steps"]) == ("serial", steps)


def test_long_rows_of_pixels_are_split_in_tf32() -> None:
    deep = kernels(conv("float32", (16, 1025, 1, 1), (24, 1025, 1, 1), 1))
    assert [work.family for work in deep] == ["gemm", "reduction"]
    assert 5e-6 < seconds(conv("float32", (16, 576, 1, 1), (24, 576, 1, 1), 1)) < 9e-6


def test_gradients_of_pixels_are_products() -> None:
    rows = kernels(gradients("bfloat16", 32, 2112, 88))
    of_input = kernels(product("bfloat16", (32, 88), (88, 2112), ".."))
    of_weight = kernels(product("bfloat16", (88, 32), (32, 2112), "t."))
    assert rows == [*of_input, *of_weight]


def test_float32_pixels_are_multiplied_in_tf32_or_on_lanes() -> None:
    op = conv("float32", (32, 4096, 1, 1), (4096, 4096, 1, 1), 1)
    main = kernels(op)[0]
    assert (main.family, main.engine, main.dtype) == ("gemm", "tensor", "tf32")
    old = max(launches(op, V100) or (), key=lambda k: k.flops)
    assert (old.family, old.engine, old.dtype) == ("gemm", "vector", "float32")
    # 2 · 32 · 4096 · 4096 FLOPs: 21 µs on an H200, where 32 products of one column took 1,034
    assert main.flops == 1_073_741_824
    assert 15e-6 < seconds(op) < 40e-6


def test_a_filter_as_large_as_its_image_sums_over_all_of_it() -> None:
    op = conv("float32", (32, 512, 7, 7), (4096, 512, 7, 7), 1)
    image, weight, main = kernels(op)  # one pixel is not converted back
    assert [image.family, weight.family] == ["layout", "layout"]
    assert (main.dims["variant"], main.dims["depth"]) == ("fwd_covering", 25_088)  # 512·7·7
    # 32 tiles, each with (128 + 128) · 25,088 numbers of 4 bytes at 27 bytes per clock of 1.98 GHz:
    # 481 µs. Recorded: 476 µs, plus 245 µs of conversions
    assert seconds(op) == pytest.approx(723e-6, rel=0.05)


def test_a_filter_longer_than_a_mask_runs_on_lanes_group_by_group() -> None:
    op = conv("float16", (4, 768, 249), (768, 48, 128), 250, groups=16)
    rows = [k for k in kernels(op) if k.family == "conv"]
    assert [k.dims["variant"] for k in rows] == ["fwd_direct_long"] * 16 * 3
    # 2 · 4·250 · 48 · 48·128, divided among three kernels
    assert {k.flops for k in rows} == {589_824_000 // 3}
    short = kernels(conv("float16", (4, 768, 249), (768, 48, 32), 250, groups=16))
    assert "fwd_direct_long" not in {k.dims.get("variant") for k in short}


def test_a_long_filter_takes_as_long_as_it_has_taps() -> None:
    one, two = (seconds(conv("float16", (1, 48, 249), (48, 48, taps), 250)) for taps in (128, 256))
    assert two / one == pytest.approx(2, abs=0.02)  # a few tiles, whose depth is not split


@pytest.mark.parametrize(
    ("op", "families"),
    [
        # patches of 3·3·3 = 27 and 4·4·3 = 48 numbers are too shallow for any number of patches
        (conv("float16", (128, 3, 225, 225), (32, 3, 3, 3), 112, 2), "conv"),
        (conv("bfloat16", (64, 3, 224, 224), (64, 3, 3, 3), 112, 2), "conv"),
        (conv("float16", (64, 3, 256, 256), (96, 3, 4, 4), 64, 4), "fill conv"),
        # patches of 16·16·3 = 768 numbers, for 192 and for 768 outputs
        (conv("bfloat16", (64, 3, 224, 224), (192, 3, 16, 16), 14, 16), "fill conv"),
        (
            conv("bfloat16", (64, 3, 224, 224), (768, 3, 16, 16), 14, 16),
            "fill layout fill layout conv layout",
        ),
        # TF32: weights of 64·27 = 1,728 numbers and of 64·147 = 9,408
        (conv("float32", (32, 3, 226, 226), (64, 3, 3, 3), 224), "conv"),
        (
            conv("float32", (32, 3, 229, 229), (64, 3, 7, 7), 112, 2),
            "fill layout fill layout conv layout",
        ),
    ],
)
def test_first_layers(op: Signature, families: str) -> None:
    assert [k.family for k in kernels(op)] == families.split()


@pytest.mark.parametrize(
    ("n", "cin", "cout", "side", "variant"),
    [
        (32, 120, 720, 16, "fwd_direct"),
        (32, 88, 528, 16, "fwd_direct"),
        (16, 24, 736, 18, "fwd_direct"),
        (32, 72, 512, 14, "fwd_narrow"),  # a power of two
        (32, 288, 88, 16, "fwd_plain"),  # 128 channels or more
        (64, 48, 528, 8, "fwd_plain"),  # more images
        (32, 96, 24, 64, "fwd_plain"),  # larger ones
    ],
)
def test_many_small_images_of_few_channels_run_on_lanes(
    n: int, cin: int, cout: int, side: int, variant: str
) -> None:
    (kernel,) = kernels(conv("float16", (n, cin, side, side), (cout, cin, 1, 1), side))
    assert kernel.dims["variant"] == variant


def test_long_filters_run_on_vector_lanes_in_half_precision_alone() -> None:
    """Filters of 128 taps in 16 groups: wav2vec 2.0 in float16, with three kernels per group, and
    SEW-D in TF32."""
    for dtype, engine, count in (("float16", "vector", 48), ("float32", "tensor", 16)):
        op = conv(dtype, (2, 768, 256), (768, 48, 128), 129, groups=16)
        works = launches(op, H200)
        assert works is not None
        products = [w for w in works if w.family == "conv"]
        assert (len(products), {w.engine for w in products}) == (count, {engine})
