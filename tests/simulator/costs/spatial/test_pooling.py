"""Pooling and resampling against hand-computed sums."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import Spec, launched, sig

F32, I64 = "float32", "int64"
BIG, SMALL = ((2, 8, 16, 16), F32), ((2, 8, 8, 8), F32)
# the large tensor has 2·8·256·4 = 16,384 bytes, the small one 2·8·64·4 = 4,096
BIG_BYTES, SMALL_BYTES = 16384, 4096


def run(name: str, out: Spec | list[Spec], args: dict[str, Any], **inputs: Any) -> tuple[Work, ...]:
    return launched(sig(f"aten.{name}.default", out, None, args, **inputs))


def test_max_pool_writes_values_and_places() -> None:
    places = ((2, 8, 8, 8), I64)
    args = {"kernel_size": [3, 3], "stride": [2, 2]}
    (work,) = run("max_pool2d_with_indices", [SMALL, places], args, self=BIG)
    # 1,024 outputs, each of 9 inputs
    assert (work.family, work.flops) == ("pool", 9216)
    # writes 4,096 bytes of values and 1,024·8 of indices
    assert (work.read_bytes, work.write_bytes) == (BIG_BYTES, 12288)
    assert work.dims == {
        "elements": 1024,
        "taps": 9,
        "channels_last": False,
        "item_bytes": 4,
        "channels": 8,
        "variant": "max",
    }


def test_one_number_is_a_square_window() -> None:
    (work,) = run("avg_pool2d", SMALL, {"kernel_size": [2]}, self=BIG)
    assert work.dims["taps"] == 4


def test_strides_leap_over_inputs() -> None:
    (work,) = run("avg_pool2d", SMALL, {"kernel_size": [1, 1], "stride": [2, 2]}, self=BIG)
    assert work.read_bytes == SMALL_BYTES


def test_max_pool_backward_clears_first() -> None:
    clear, work = run(
        "max_pool2d_with_indices_backward",
        BIG,
        {"kernel_size": [2, 2]},
        grad_output=SMALL,
        self=BIG,
        indices=((2, 8, 8, 8), I64),
    )
    assert (clear.family, clear.write_bytes) == ("fill", BIG_BYTES)
    assert (work.read_bytes, work.write_bytes) == (12288, BIG_BYTES)


@pytest.mark.parametrize(("dims", "launches"), [(2, 1), (3, 2)])
def test_avg_pool_backward_clears_in_three_dimensions(dims: int, launches: int) -> None:
    big, small = ((2, 8, *[8] * dims), F32), ((2, 8, *[4] * dims), F32)
    works = run(
        f"avg_pool{dims}d_backward", big, {"kernel_size": [2] * dims}, grad_output=small, self=big
    )
    assert len(works) == launches


def test_adaptive_pool_covers_its_input() -> None:
    one = ((2, 8, 1, 1), F32)
    (work,) = run("_adaptive_avg_pool2d", one, {"output_size": [1, 1]}, self=BIG)
    # 2·8 outputs, each of 256 inputs
    assert (work.flops, work.read_bytes, work.write_bytes) == (4096, BIG_BYTES, 64)
    assert len(run("_adaptive_avg_pool2d_backward", BIG, {}, grad_output=one, self=BIG)) == 2


def test_upsampling() -> None:
    (near,) = run("upsample_nearest2d", BIG, {"output_size": [16, 16]}, self=SMALL)
    assert (near.family, near.read_bytes, near.write_bytes) == (
        "resample",
        SMALL_BYTES,
        BIG_BYTES,
    )
    (linear,) = run("upsample_bilinear2d", BIG, {"output_size": [16, 16]}, self=SMALL)
    # 4,096 outputs, each of four multiply-adds
    assert linear.flops == 32768


def test_linear_upsampling_adds_its_gradients_to_zeros() -> None:
    (near,) = run("upsample_nearest2d_backward", SMALL, {}, grad_output=BIG)
    assert (near.read_bytes, near.write_bytes) == (BIG_BYTES, SMALL_BYTES)
    # each of 2·8·8·8 results sums four gradients; of a reduction, each has at most one
    assert (near.flops, near.dims["taps"]) == (4096, 4)
    (near,) = run("upsample_nearest2d_backward", BIG, {}, grad_output=SMALL)
    assert (near.flops, near.dims["taps"], near.dims["steps"]) == (4096, 1, 2)
    clear, work = run("upsample_bilinear2d_backward", SMALL, {}, grad_output=BIG)
    assert clear.family == "fill"
    assert work.read_bytes == BIG_BYTES + SMALL_BYTES
    # 4,096 gradients, each of four multiply-adds
    assert work.flops == 32768
    # one thread per element, except for bicubic gradients: there a thread visits 2·8 planes in turn
    # at each of 16·16 places
    assert "steps" not in work.dims
    _, cubic = run("upsample_bicubic2d_backward", SMALL, {}, grad_output=BIG)
    assert (cubic.dims["variant"], cubic.dims["steps"], cubic.dims["places"]) == (
        "scatter_cubic",
        16,
        256,
    )


def test_antialiasing_looks_at_more_when_it_shrinks() -> None:
    (work,) = run("_upsample_bilinear2d_aa", SMALL, {"output_size": [8, 8]}, self=BIG)
    # four times the area: 16 neighbours, with a multiply-add each
    assert work.dims["taps"] == 32
    assert work.dims["variant"] == "antialiased" and "steps" not in work.dims
    # the gradient visits 2·8 planes one after another
    *_, back = run("_upsample_bilinear2d_aa_backward", BIG, {}, grad_output=SMALL)
    assert (back.dims["variant"], back.dims["steps"]) == ("scatter_antialiased", 16)


def test_grid_sampler_reads_its_grid() -> None:
    grid = ((2, 8, 8, 2), F32)
    args = {"interpolation_mode": 0}
    (work,) = run("grid_sampler_2d", SMALL, args, input=BIG, grid=grid)
    # 4 corners of each output: at most the whole input of 16,384 bytes; the grid 2·8·8·2·4 = 1,024
    assert work.read_bytes == BIG_BYTES + 1024
    works = run(
        "grid_sampler_2d_backward",
        [BIG, grid],
        {**args, "output_mask": [True, True]},
        grad_output=SMALL,
        input=BIG,
        grid=grid,
    )
    assert [w.family for w in works] == ["fill", "resample"]
    # a cube has 8 corners, or 1 for the nearest mode, and a multiply-add for each
    cube, small = ((1, 2, 4, 4, 4), F32), ((1, 2, 2, 2, 2), F32)
    grid = ((1, 2, 2, 2, 3), F32)
    for mode, corners in ((0, 8), (1, 1)):
        args = {"interpolation_mode": mode}
        (work,) = run("grid_sampler_3d", small, args, input=cube, grid=grid)
        # 8 places with 2 channels each
        assert (work.dims["taps"], work.flops) == (2 * 2 * corners, 16 * 2 * corners)


def test_im2col_is_a_kernel_for_each_sample() -> None:
    columns = ((2, 8 * 9, 196), F32)
    windows = {"kernel_size": [3, 3], "stride": [1, 1]}
    enlarged, *works = run("im2col", columns, windows, self=BIG)
    # writes 8·9·196·4 = 56,448 bytes each
    assert [w.write_bytes for w in works] == [56448, 56448]
    assert (enlarged.family, enlarged.write_bytes) == ("memcpy", BIG_BYTES)
    (back,) = run("col2im", BIG, windows, self=columns)
    assert (back.read_bytes, back.write_bytes) == (112896, BIG_BYTES)


def test_mirrored_padding() -> None:
    out = ((2, 8, 18, 18), F32)
    (work,) = run("reflection_pad2d", out, {"padding": [1] * 4}, self=BIG)
    # writes 2·8·324·4 = 20,736 bytes
    assert (work.family, work.read_bytes, work.write_bytes) == ("padding", BIG_BYTES, 20736)
    works = run("reflection_pad2d_backward", BIG, {"padding": [1] * 4}, grad_output=out, self=BIG)
    assert [w.family for w in works] == ["fill", "padding"]


@pytest.mark.parametrize(("ratio", "places"), [(1, 1), (2, 4), (3, 9), (0, 4), (-1, 4)])
def test_roi_align_looks_at_four_neighbours_of_each_place(ratio: int, places: int) -> None:
    out = ((5, 8, 7, 7), F32)
    # a ratio of 0 or less means adaptive sampling, which counts as 2
    args = {"sampling_ratio": ratio}
    op = sig("torchvision.roi_align.default", out, None, args, input=BIG, rois=((5, 5), F32))
    (work,) = launched(op)
    # 5·8·49 = 1,960 bins; 4 multiply-adds for each place
    assert work.flops == 1960 * places * 8


def test_interpolation_takes_all_planes_one_after_the_other() -> None:
    args = {"output_size": [16, 16]}
    (serial,) = run("upsample_bilinear2d", BIG, args, self=SMALL)
    # 2·8 planes of 16·16 places, one thread per place: 16 steps, 256 places
    assert (serial.dims["variant"], serial.dims["steps"], serial.dims["places"]) == (
        "serial",
        16,
        256,
    )
    (near,) = run("upsample_nearest2d", BIG, args, self=SMALL)
    assert (near.dims["variant"], "steps" in near.dims) == ("gather", False)


@pytest.mark.parametrize(("channels", "variant"), [(8, "serial"), (16, "gather")])
def test_sixteen_channels_that_lie_innermost_are_interpolated_at_once(
    channels: int, variant: str
) -> None:
    small = Tensor((2, channels, 4, 4), F32, (16 * channels, 1, 4 * channels, channels))
    big = ((2, channels, 8, 8), F32)
    (work,) = run("upsample_bilinear2d", big, {"output_size": [8, 8]}, self=small)
    assert work.dims["variant"] == variant


@pytest.mark.parametrize("name", ["upsample_bilinear2d", "upsample_bilinear2d_backward"])
def test_bilinear_to_the_same_size_copies(name: str) -> None:
    first = "grad_output" if "backward" in name else "self"
    works = run(name, BIG, {"output_size": [8, 8]}, **{first: BIG})
    assert [w.family for w in works] == [*(["fill"] if "backward" in name else []), "memcpy"]


def test_other_interpolations_compute_the_same_size() -> None:
    cleared, work = run("upsample_bicubic2d", BIG, {"output_size": [8, 8]}, self=BIG)
    assert (cleared.family, work.family) == ("fill", "resample")
    assert cleared.write_bytes == work.write_bytes == BIG_BYTES


def test_antialiased_interpolation_copies_channels_last_before_and_after() -> None:
    small = Tensor((2, 8, 4, 4), "float32", (128, 1, 32, 8))
    big = Tensor((2, 8, 8, 8), "float32", (512, 1, 64, 8))
    name, args = "_upsample_bicubic2d_aa", {"output_size": [8, 8]}
    # 2·8·16·4 bytes and 2·8·64·4 bytes
    works = run(name, big, args, self=small)
    assert [(w.family, w.write_bytes) for w in works] == [
        ("copy", 1024),
        ("resample", 4096),
        ("copy", 4096),
    ]
    back = run(f"{name}_backward", SMALL, args, grad_output=big)
    assert [w.family for w in back] == ["copy", "fill", "resample"]


def test_nearest_interpolation_copies_a_slice_of_channels_first() -> None:
    """Channels last have separate kernels."""
    sliced = Tensor((2, 8, 8, 8), "float32", (1024, 64, 8, 1))
    copied, _ = run("upsample_nearest2d_backward", SMALL, {}, grad_output=sliced)
    # 2·8·64·4
    assert (copied.family, copied.write_bytes) == ("copy", 4096)
    assert len(run("upsample_nearest2d", BIG, {}, self=sliced)) == 2
    last = Tensor((2, 8, 8, 8), "float32", (512, 1, 64, 8))
    (gathered,) = run("upsample_nearest2d_backward", SMALL, {}, grad_output=last)
    assert "steps" not in gathered.dims  # all images at once


def test_the_instructions_of_windows() -> None:
    """Four to find a place and two to load each tap; four where places are computed."""
    grid, rois = ((2, 8, 8, 2), F32), ((5, 5), F32)
    (pool,) = run("avg_pool2d", SMALL, {"kernel_size": [2]}, self=BIG)
    assert pool.instructions == 1024 * (4 * 2 + 4)
    (sampled,) = run("grid_sampler_2d", SMALL, {}, input=BIG, grid=grid)
    # four corners and a multiply-add for each of 1,024 outputs; 128 threads visit 8 channels each
    assert (sampled.flops, sampled.instructions) == (8192, 128 * (8 * 8 * 4 + 4))
    assert (sampled.dims["elements"], sampled.dims["steps"]) == (128, 8)
    *_, back = run("grid_sampler_2d_backward", [BIG, grid], {}, grad_output=SMALL, input=BIG,
                   grid=grid)  # fmt: skip
    assert (back.flops, back.instructions) == (2 * 8192, 128 * (8 * 16 * 4 + 4))
    out = ((5, 8, 7, 7), F32)
    for name, taps in (("roi_align", 32), ("roi_pool", 4)):
        op = sig(f"torchvision.{name}.default", out, None, {}, input=BIG, rois=rois)
        (region,) = launched(op)
        assert (region.flops, region.instructions) == (1960 * taps, 1960 * (taps * 4 + 4))
        # at most the whole input, and 5 regions of 5 numbers
        assert (region.read_bytes, region.write_bytes) == (BIG_BYTES + 100, 7840)


def test_a_gradient_of_the_grid_alone_clears_nothing() -> None:
    grid = ((2, 8, 8, 2), F32)
    (work,) = run("grid_sampler_2d_backward", [grid], {"output_mask": [False, True]},
                  grad_output=SMALL, input=BIG, grid=grid)  # fmt: skip
    assert work.dims["variant"] == "samples_backward"


@pytest.mark.parametrize("dims", [2, 3])
def test_an_adaptive_pool_has_a_block_for_each_plane(dims: int) -> None:
    """2 · 8 images or volumes."""
    big, small = ((2, 8, *[8] * dims), F32), ((2, 8, *[4] * dims), F32)
    (work,) = run(f"_adaptive_avg_pool{dims}d", small, {"output_size": [4] * dims}, self=big)
    assert (work.dims["variant"], work.dims["runs"]) == ("adaptive", 16)
    # 32 lanes for each row of four outputs
    assert (work.dims["taps"], work.dims["elements"]) == (2**dims, 16 * 4 ** (dims - 1) * 32)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_the_taps_of_an_interpolation_by_its_dimensions(dims: int) -> None:
    """Two neighbours along each dimension; a thread visits 2 · 8 planes in turn."""
    name = f"upsample_{('linear', 'bilinear', 'trilinear')[dims - 1]}{dims}d"
    small, big = ((2, 8, *[4] * dims), F32), ((2, 8, *[8] * dims), F32)
    (work,) = run(name, big, {"output_size": [8] * dims}, self=small)
    assert work.dims["taps"] == 2 * 2**dims
    assert (work.dims["steps"], work.dims["places"]) == (16, 8**dims)
    (near,) = run(f"upsample_nearest{dims}d", big, {"output_size": [8] * dims}, self=small)
    assert near.dims["taps"] == 1 and near.dims.get("steps") == (2 if dims == 3 else None)
