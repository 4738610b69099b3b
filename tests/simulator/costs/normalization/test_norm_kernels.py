"""Kernels of layer, RMS, group and weight norms with hand-computed blocks and steps."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig, sums

F32, F64 = "float32", "float64"
X, W, S = ((50, 600), F32), ((600,), F32), ((50, 1), F32)  # 120,000, 2,400 and 200 bytes
SHAPE = {"normalized_shape": [600]}


def forward(x: Any, w: Any, name: str = "native_layer_norm", **more: Any) -> tuple[Work, ...]:
    outs = [x, S, S] if name == "native_layer_norm" else [x, S]
    cols = w[0][0]
    return launched(
        sig(f"aten.{name}.default", outs, None, {"normalized_shape": [cols]}, input=x, **more)
    )


def test_a_layer_norm_of_vectors_is_one_kernel() -> None:
    (work,) = forward(X, W, weight=W, bias=W)
    # 8 FLOPs; 13 instructions for the moments, 6 to apply them, and one more
    assert sums([work]) == [("norm", 8 * 30000, 124800, 120400, 20 * 30000)]
    # 128 threads of four elements: two rounds
    assert work.dims == {
        "variant": "fused", "rows": 50, "cols": 600, "inner": 1, "runs": 50, "steps": 2,
        "itemsize": 4, "rms": False,
    }  # fmt: skip
    (plain,) = forward(X, W)
    assert (plain.flops, plain.instructions) == (6 * 30000, 18 * 30000)
    (rms,) = forward(X, W, "_fused_rms_norm", weight=W)
    # a square and its sum; multiplied by the root and by the weight; 4 instructions
    assert sums([rms]) == [("norm", 4 * 30000, 122400, 120200, 6 * 30000)]
    assert (rms.dims["variant"], rms.dims["rms"]) == ("fused_rms", True)
    assert forward(((0, 600), F32), W) == ()


def test_other_rows_take_two_kernels() -> None:
    x, w = ((50, 601), F32), ((601,), F32)
    moments, apply = forward(x, w, weight=w, bias=w)
    assert sums([moments, apply]) == [
        ("norm", 4 * 30050, 120200, 400, 13 * 30050),
        ("norm", 4 * 30050, 120200 + 400 + 4808, 120200, 6 * 30050),
    ]
    # 512 threads for the moments, then 256
    assert (moments.dims["variant"], moments.dims["steps"]) == ("moments", 2)
    assert (apply.dims["variant"], apply.dims["steps"]) == ("scaling", 3)
    assert len(forward(((50, 600), F64), ((600,), F64))) == 2
    gaps = Tensor((50, 600), F32, (700, 1))
    copied, work = forward(gaps, W)
    assert (copied.write_bytes, work.dims["variant"]) == (120000, "fused")


@pytest.mark.parametrize(
    ("cols", "moments", "scaling"), [(255, 1, 1), (257, 1, 2), (511, 1, 2), (513, 2, 3)]
)
def test_threads_of_the_two_kernels(cols: int, moments: int, scaling: int) -> None:
    first, second = forward(((50, cols), F32), ((cols,), F32))
    assert (first.dims["steps"], second.dims["steps"]) == (moments, scaling)


@pytest.mark.parametrize(("cols", "steps"), [(512, 1), (516, 2)])
def test_threads_that_load_vectors(cols: int, steps: int) -> None:
    (fused,) = forward(((50, cols), F32), ((cols,), F32))
    (gradient,) = backward(50, cols, [True, False, False])
    assert fused.dims["steps"] == gradient.dims["steps"] == steps


def backward(
    rows: int, cols: int, mask: list[bool], name: str = "native_layer_norm", dtype: str = F32
) -> tuple[Work, ...]:
    x, w, s = ((rows, cols), dtype), ((cols,), dtype), ((rows, 1), dtype)
    inputs: dict[str, Any] = {"grad_out": x, "input": x, "rstd": s, "weight": w}
    if name == "native_layer_norm":
        inputs |= {"mean": s}
    args = {"normalized_shape": [cols], "output_mask": mask}
    return launched(sig(f"aten.{name}_backward.default", [x, w, w], None, args, **inputs))


def test_gradients_of_a_layer_norm() -> None:
    of_input, of_weight = backward(50, 600, [True, True, True])
    assert sums([of_input, of_weight]) == [
        ("norm", 11 * 30000, 240000 + 400 + 2400, 120000, 14 * 30000),
        # x̂ takes two FLOPs, then a product and a sum, and the bias's sum
        ("weight_gradient", 5 * 30000, 240400, 4800, 6 * 30000),
    ]
    assert of_input.dims == {
        "variant": "input_gradient", "rows": 50, "cols": 600, "inner": 1, "runs": 50, "steps": 2,
        "itemsize": 4, "rms": False, "vectorized": True,
    }  # fmt: skip
    # one warp covers 8 rows at a time, in 19 blocks of 32 columns
    assert of_weight.dims == {
        "outputs": 600, "cols": 50, "itemsize": 4, "affine": 2, "steps": 7, "blocks": 19,
        "threads": 64,
    }  # fmt: skip
    (alone,) = backward(50, 600, [False, True, False])
    assert (alone.flops, alone.write_bytes, alone.dims["affine"]) == (4 * 30000, 2400, 1)
    assert len(backward(50, 600, [True, False, False])) == 1
    assert backward(0, 600, [True, True, True]) == ()
    for cols, dtype in ((601, F32), (600, F64)):
        first = backward(50, cols, [True, False, False], dtype=dtype)[0]
        assert (first.dims["vectorized"], first.dims["steps"]) == (False, 5)


def test_gradients_of_an_rms_norm() -> None:
    of_input, of_weight = backward(50, 600, [True, True, False], "_fused_rms_norm")
    assert sums([of_input, of_weight]) == [
        ("norm", 7 * 30000, 242600, 120000, 10 * 30000),
        ("weight_gradient", 3 * 30000, 240200, 2400, 6 * 30000),
    ]
    assert of_input.dims["variant"] == "input_gradient_rms"


@pytest.mark.parametrize(
    ("rows", "cols", "families"),
    [(65537, 2047, 3), (65536, 2047, 1), (65537, 2048, 1)],
)
def test_many_rows_of_few_columns_are_summed_twice(rows: int, cols: int, families: int) -> None:
    kernels = backward(rows, cols, [False, True, True])
    assert len(kernels) == families
    if families == 3:
        # 2,049 parts of 32 rows, 64 blocks of 32 columns; for weight and bias
        assert kernels[0].dims["runs"] == 2049 * 64
        assert kernels[0].write_bytes == 2 * 2049 * 2047 * 4
        assert (
            sums(kernels[1:])
            == [("reduction", 2049 * 2047, 2049 * 2047 * 4, 2047 * 4, 2 * 2049 * 2047)] * 2
        )


@pytest.mark.parametrize(
    ("rows", "warps"), [(63, 1), (64, 8), (127, 8), (128, 16), (255, 16), (256, 32)]
)
def test_warps_grow_with_the_rows(rows: int, warps: int) -> None:
    (work,) = backward(rows, 64, [False, True, True])
    assert (work.dims["threads"], work.dims["steps"]) == (64 * warps, -(-rows // (8 * warps)))


IMAGE, CHANNELS, STATISTICS = ((4, 6, 10, 60), F32), ((6,), F32), ((4, 3), F32)
GROUPS = {"N": 4, "C": 6, "HxW": 600, "group": 3}
# 14,400 elements, 57,600 bytes; 12 groups of 1,200


def test_a_group_norm() -> None:
    outs = [IMAGE, STATISTICS, STATISTICS]
    name = "aten.native_group_norm.default"
    kernels = launched(sig(name, outs, None, GROUPS, input=IMAGE, weight=CHANNELS, bias=CHANNELS))
    assert sums(kernels) == [
        ("group_moments", 4 * 14400, 57600, 96, 13 * 14400),
        ("norm", 3 * 24, 96 + 48, 192, 5 * 24),  # a scale and a shift for each of 24 channels
        ("norm_apply", 2 * 14400, 57600 + 192, 57600, 3 * 14400),
    ]
    assert kernels[0].dims == {
        "rows": 12, "cols": 1200, "inner": 1, "itemsize": 4, "runs": 12, "steps": 3, "blocks": 12,
        "threads": 512,
    }  # fmt: skip
    assert kernels[2].dims == {
        "variant": "groups", "rows": 24, "cols": 600, "itemsize": 4, "elements": 14400,
        "backward": False,
    }  # fmt: skip
    plain = launched(sig(name, outs, None, GROUPS, input=IMAGE))
    assert sums(plain)[1:] == [("norm_apply", 4 * 14400, 57600 + 96, 57600, 5 * 14400)]
    flat, args = ((4, 6), F32), {**GROUPS, "HxW": 1}
    single = launched(sig(name, outs, None, args, input=flat, weight=CHANNELS, bias=CHANNELS))
    assert len(single) == 2
    # groups of two elements use 32 threads
    assert (single[0].dims["threads"], single[0].dims["steps"]) == (32, 1)
    none = ((0, 6, 10, 60), F32)
    assert launched(sig(name, outs, None, {**GROUPS, "N": 0}, input=none)) == ()


@pytest.mark.parametrize(("space", "threads", "steps"), [(255, 32, 16), (256, 512, 1)])
def test_short_groups_take_a_warp(space: int, threads: int, steps: int) -> None:
    x, args = ((4, 6, space), F32), {**GROUPS, "HxW": space}
    op = sig("aten.native_group_norm.default", [x, STATISTICS, STATISTICS], None, args, input=x)
    first = launched(op)[0]
    assert (first.dims["threads"], first.dims["steps"]) == (threads, steps)


def group_gradient(mask: list[bool], n: int = 4, **weight: Any) -> tuple[Work, ...]:
    x, saved = ((n, 6, 10, 60), F32), ((n, 3), F32)
    wanted = [out for out, want in zip((x, CHANNELS, CHANNELS), mask, strict=True) if want]
    return launched(
        sig("aten.native_group_norm_backward.default", wanted, None,
            {**GROUPS, "N": n, "output_mask": mask}, grad_out=x, input=x, mean=saved, rstd=saved,
            **weight)
    )  # fmt: skip


def test_gradients_of_a_group_norm() -> None:
    kernels = group_gradient([True, True, True], weight=CHANNELS)
    assert sums(kernels) == [
        ("group_moments", 3 * 14400, 115200, 192, 3 * 14400),  # two sums for each of 24 channels
        ("norm", 24, 48 + 24, 96, 4 * 24),
        ("norm", 6 * 24, 192 + 96 + 24, 96, 8 * 24),
        ("norm_apply", 4 * 14400, 115200 + 96 + 96, 57600, 5 * 14400),
        ("norm", 4 * 24, 192 + 96, 48, 6 * 24),
    ]
    assert kernels[0].dims["variant"] == "gradient"
    # a block of 32 threads for each of 12 groups of two channels
    assert kernels[2].dims == {
        "variant": "factors", "rows": 12, "cols": 2, "inner": 1, "itemsize": 4, "runs": 12,
        "steps": 1, "blocks": 12, "threads": 32,
    }  # fmt: skip
    # 24 channels of 600
    assert kernels[3].dims == {
        "variant": "groups", "rows": 24, "cols": 600, "itemsize": 4, "elements": 14400,
        "backward": True,
    }  # fmt: skip
    assert kernels[1].dims == {"variant": "statistics", "elements": 24}
    assert kernels[4].dims == {
        "variant": "channel_gradient", "cols": 4, "channels": 6, "groups": 3, "itemsize": 4,
        "since": 115200, "columnwise": True, "steps": 4,
    }  # fmt: skip
    plain = group_gradient([True, False, False])
    assert sums(plain)[1:] == [
        ("norm", 6 * 24, 192 + 96, 96, 8 * 24),
        ("norm_apply", 4 * 14400, 115200 + 48 + 96, 57600, 5 * 14400),
    ]
    sums_alone = group_gradient([False, True, True], weight=CHANNELS)
    assert len(sums_alone) == 2
    assert (sums_alone[1].dims["since"], sums_alone[1].write_bytes) == (0, 48)
    # the gradient of the weight alone, or of the bias alone
    for wanted in ([False, True, False], [False, False, True]):
        one = group_gradient(wanted, weight=CHANNELS)
        # two sums; 6 channels of 4 bytes
        assert [kernel.write_bytes for kernel in one] == [192, 24]


def test_the_sums_of_a_group_norm_of_doubles_are_doubles() -> None:
    x, c, saved = ((4, 6, 10, 60), F64), ((6,), F64), ((4, 3), F64)
    forward = sig("aten.native_group_norm.default", [x, saved, saved], None, GROUPS, input=x,
                  weight=c, bias=c)  # fmt: skip
    # 24 channels of 8 bytes: a scale and a shift for each
    assert [w.write_bytes for w in launched(forward)] == [192, 384, 115200]
    gradient = sig(
        "aten.native_group_norm_backward.default", [x, c, c], None, GROUPS, grad_out=x, input=x,
        mean=saved, rstd=saved, weight=c,
    )  # fmt: skip
    # two sums per channel; a factor for each; two for each of 12 groups; two of 6 channels
    assert [w.write_bytes for w in launched(gradient)] == [384, 192, 192, 115200, 96]


@pytest.mark.parametrize(("n", "columnwise", "steps"), [(128, True, 128), (129, False, 5)])
def test_tiles_sum_more_than_128_samples(n: int, columnwise: bool, steps: int) -> None:
    work = group_gradient([False, True, True], n, weight=CHANNELS)[-1]
    assert (work.dims["columnwise"], work.dims["steps"]) == (columnwise, steps)


def test_a_weight_norm_along_its_first_or_last_dimension() -> None:
    v, first, last = ((50, 600), F32), ((50, 1), F32), ((1, 600), F32)
    name = "aten._weight_norm_interface"
    (work,) = launched(sig(f"{name}.default", [v, first], None, {"dim": 0}, v=v, g=first))
    assert sums([work]) == [("norm", 3 * 30000, 120200, 120200, 4 * 30000)]
    assert work.dims == {"rows": 50, "cols": 600, "inner": 1}
    (work,) = launched(sig(f"{name}.default", [v, last], None, {"dim": 1}, v=v, g=last))
    assert work.dims == {
        "variant": "apply_last", "outputs": 600, "cols": 50, "steps": 2, "blocks": 38,
        "threads": 1024,
    }  # fmt: skip
    (same,) = launched(sig(f"{name}.default", [v, first], None, {"dim": -2}, v=v, g=first))
    assert same.dims["rows"] == 50
    (back,) = launched(
        sig(f"{name}_backward.default", [v, first], None, {"dim": 0}, grad_w=v, saved_v=v,
            saved_g=first, saved_norms=first)
    )  # fmt: skip
    assert sums([back]) == [("norm", 6 * 30000, 240400, 120200, 8 * 30000)]
