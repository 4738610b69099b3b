"""Kernels of batch norms and softmaxes with hand-computed blocks and steps."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig, sums

F32, F64, HALF = "float32", "float64", "bfloat16"
X = ((8, 40, 10, 10), F32)  # 32,000 elements, 128,000 bytes; 40 channels of 800 elements
LAST = Tensor((8, 40, 10, 10), F32, (4000, 1, 400, 40))
C = ((40,), F32)  # 160 bytes
NONE = ((0,), F32)


def native(x: Any, name: str = "native_batch_norm", **args: Any) -> tuple[Work, ...]:
    names = ("weight", "bias", "running_mean", "running_var")
    channels: dict[str, Any] = dict.fromkeys(names, C)
    return launched(sig(f"aten.{name}.default", [x, C, C], None, args, input=x, **channels))


def test_training_is_moments_an_update_and_the_application() -> None:
    moments, update, apply = native(X, training=True)
    assert sums([moments, update, apply]) == [
        ("batch_norm", 4 * 32000, 128000, 320, 13 * 32000),
        ("norm", 8 * 40, 640, 480, 16 * 40),
        ("norm_apply", 4 * 32000, 128000 + 640, 128000, 5 * 32000),
    ]
    shape = {"rows": 40, "cols": 800, "inner": 1, "runs": 320, "itemsize": 4}
    # planes of 100 take 128 of 512 threads, so four images at a time, in two rounds
    assert moments.dims == {
        **shape, "variant": "planes", "blocks": 40, "threads": 512, "steps": 2,
    }  # fmt: skip
    # a quarter of a plane needs 32 threads, but the minimum is 64; two loads cover each plane of
    # 100
    assert apply.dims == {
        **shape, "variant": "planes", "steps": 2, "threads": 64, "again": True,
    }  # fmt: skip


def test_inference_copies_the_mean_and_inverts_the_root() -> None:
    copied, root, apply = native(X, training=False)
    assert sums([copied, root, apply]) == [
        ("memcpy", 0, 160, 160, 0),
        ("norm", 2 * 40, 160, 160, 10 * 40),
        ("norm_apply", 4 * 32000, 128640, 128000, 5 * 32000),
    ]
    assert copied.dims == {"direction": "d2d", "bytes": 160}
    assert not apply.dims["again"]
    half = dict.fromkeys(("weight", "bias", "running_mean", "running_var"), ((40,), HALF))
    x = ((8, 40, 10, 10), HALF)
    cast, root, _ = launched(
        sig("aten._native_batch_norm_legit_no_training.default", [x, NONE, NONE], None, {},
            input=x, **half)
    )  # fmt: skip
    # a kernel casts 80 bytes to 160 bytes of single precision
    assert sums([cast, root]) == [("pointwise", 0, 80, 160, 80), ("norm", 80, 80, 160, 400)]
    assert cast.dims == {"elements": 40, "inputs": 1, "contiguous": True}
    assert len(native(X, "_batch_norm_with_update")) == 3
    assert native(X, "_batch_norm_with_update")[0].family == "batch_norm"
    assert native(X, "_batch_norm_no_update")[0].family == "memcpy"


def test_channels_last_are_reduced_in_tiles() -> None:
    moments, _, apply = native(LAST, training=True)
    shape = {"rows": 40, "cols": 800, "inner": 40, "runs": 1, "itemsize": 4}
    # tiles of 32 channels and 16 threads: 800 pixels are 4 tiles of 16·16, below the limit of 8;
    # 800 / (4·16) steps
    assert moments.dims == {
        **shape, "variant": "last", "blocks": 2, "threads": 512, "steps": 13, "shared": False,
    }  # fmt: skip
    # the application shares its channels between 4 tiles: 800 / (4·16·4)
    assert apply.dims == {
        **shape, "variant": "last", "blocks": 8, "threads": 512, "steps": 4, "again": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("channels", "images", "blocks", "steps", "semaphores"),
    [
        # 32 × 16 threads of 16 pixels: 2,048 pixels are 8 tiles, with 2 columns of channels
        (64, 2048, 16, 4, 2),
        (65, 2048, 24, 4, 3),
        (64, 1792, 2, 28, 0),
        # 8 channels: 64 threads along the pixels; 8,192 pixels are 8 tiles of 1,024
        (8, 8192, 8, 4, 1),
        # 250 pixels are 16 threads of up to 16
        (64, 250, 2, 4, 0),
        # at most 128 tiles along the pixels
        (64, 10**6, 256, 123, 2),
    ],
)
def test_tiles_share_a_channel_from_eight_on(
    channels: int, images: int, blocks: int, steps: int, semaphores: int
) -> None:
    x, c = ((images, channels), F32), ((channels,), F32)
    *cleared, work = launched(sig("aten.batch_norm_stats.default", [c, c], None, {}, input=x))
    assert (work.dims["blocks"], work.dims["steps"]) == (blocks, steps)
    assert work.dims["shared"] == (semaphores > 0)
    assert sums(cleared) == [("fill", 0, 0, 4 * semaphores, semaphores)] * (semaphores > 0)
    assert (work.read_bytes, work.write_bytes) == (4 * images * channels, 8 * channels)


def test_given_moments_are_applied_alone() -> None:
    inputs: dict[str, Any] = dict.fromkeys(("weight", "bias", "mean", "invstd"), C)
    (work,) = launched(sig("aten.batch_norm_elemt.default", X, None, {}, input=X, **inputs))
    assert sums([work]) == [("norm_apply", 128000, 128640, 128000, 160000)]
    assert work.dims["again"]


def backward(x: Any, grad: Any, mask: list[bool]) -> tuple[Work, ...]:
    outs = [x if mask[0] else NONE, C, C]
    inputs: dict[str, Any] = dict.fromkeys(("weight", "save_mean", "save_invstd"), C)
    return launched(
        sig("aten.native_batch_norm_backward.default", outs, None, {"output_mask": mask},
            grad_out=grad, input=x, **inputs)
    )  # fmt: skip


def test_gradients() -> None:
    every = [True, True, True]
    (work,) = backward(X, X, every)
    # reads two tensors, mean, root and weight; writes the gradients of the input, the weight and
    # the bias
    assert sums([work]) == [
        ("batch_norm_backward", 11 * 32000, 256000 + 480, 128000 + 320, 14 * 32000)
    ]
    assert (work.dims["variant"], work.dims["steps"]) == ("planes", 4)  # both passes
    (only,) = backward(X, X, [False, True, True])
    assert sums([only]) == [("batch_norm_backward", 5 * 32000, 256320, 640, 6 * 32000)]
    assert only.dims["steps"] == 2
    reduce, apply = backward(LAST, LAST, every)
    assert sums([reduce, apply]) == [
        ("batch_norm_backward", 5 * 32000, 256320, 640, 6 * 32000),
        ("norm_apply", 6 * 32000, 256000 + 800, 128000, 8 * 32000),
    ]
    assert apply.dims["again"]
    assert len(backward(LAST, LAST, [False, True, True])) == 1


def cudnn(x: Any, training: bool) -> tuple[Work, ...]:
    channels: dict[str, Any] = dict.fromkeys(("weight", "bias", "running_mean", "running_var"), C)
    return launched(
        sig("aten.cudnn_batch_norm.default", [x, C, C, NONE], None, {"training": training},
            input=x, **channels)
    )  # fmt: skip


def test_cudnn_reads_a_channel_once_if_it_fits() -> None:
    (work,) = cudnn(X, True)
    assert sums([work]) == [("batch_norm", 8 * 32000, 128640, 128000 + 640, 18 * 32000)]
    assert work.dims == {
        "rows": 40, "cols": 800, "inner": 1, "runs": 320, "itemsize": 4,
        "variant": "cudnn_planes", "blocks": 40, "threads": 512, "steps": 2, "once": True,
    }  # fmt: skip
    # cuDNN's reserved space does not count
    reserved = sig("aten.cudnn_batch_norm.default", [X, C, C, ((640,), "uint8")], None,
                   {"training": True}, input=X)  # fmt: skip
    assert launched(reserved)[0].write_bytes == 128000 + 320
    clear, last = cudnn(LAST, True)
    assert sums([clear]) == [("fill", 0, 0, 4, 2)] and last.dims["variant"] == "cudnn_last"
    (apply,) = cudnn(X, False)
    assert sums([apply]) == [("norm_apply", 128000, 128640, 128000, 160000)]
    assert apply.dims["variant"] == "cudnn_planes"
    assert cudnn(LAST, False)[0].dims["variant"] == "cudnn_last"


@pytest.mark.parametrize(
    ("images", "once"), [(28672, (True, False)), (14336, (True, True)), (28673, (False, False))]
)
def test_a_channel_of_112_kilobytes_is_kept(images: int, once: tuple[bool, bool]) -> None:
    # one more pixel would not fit: 28,672·4 = 114,688 bytes; a gradient reads two tensors
    x, c = ((images, 4, 1, 1), F32), ((4,), F32)
    (forward,) = launched(
        sig("aten.cudnn_batch_norm.default", [x, c, c, NONE], None, {"training": True}, input=x,
            weight=c)
    )  # fmt: skip
    (back,) = launched(
        sig("aten.cudnn_batch_norm_backward.default", [x, c, c], None, {}, input=x,
            grad_output=x, weight=c, running_mean=c, save_mean=c, save_var=c)
    )  # fmt: skip
    assert (forward.dims["once"], back.dims["once"]) == once
    n = 4 * images
    # running statistics are not read
    assert sums([back]) == [("batch_norm_backward", 11 * n, 8 * n + 48, 4 * n + 32, 14 * n)]
    # one pixel per image: the channels are adjacent
    assert (forward.dims["inner"], forward.dims["runs"]) == (4, 1)


def test_statistics_of_double_precision_are_doubles() -> None:
    x, c = ((8, 40, 10, 10), F64), ((40,), F64)
    channels: dict[str, Any] = dict.fromkeys(("weight", "bias", "running_mean", "running_var"), c)
    moments, update, _ = launched(
        sig("aten.native_batch_norm.default", [x, c, c], None, {"training": True}, input=x,
            **channels)
    )  # fmt: skip
    assert (moments.write_bytes, update.read_bytes, moments.dtype) == (640, 1280, "float64")


@pytest.mark.parametrize(
    ("plane", "images", "steps", "threads"),
    [
        (32, 16, 1, 64),  # 32 threads of a plane, so 16 images at a time
        (33, 16, 2, 64),
        (64, 8, 1, 64),
        (129, 2, 1, 64),
        (257, 3, 3, 64),  # a plane of 257 takes all 512 threads; a quarter of it takes 64
        (260, 3, 3, 128),
        (1025, 2, 6, 256),
    ],
)
def test_threads_along_a_plane(plane: int, images: int, steps: int, threads: int) -> None:
    x, c = ((images, 3, plane, 1), F32), ((3,), F32)
    (work,) = launched(sig("aten.batch_norm_stats.default", [c, c], None, {}, input=x))
    assert work.dims["steps"] == steps
    (apply,) = launched(sig("aten.batch_norm_elemt.default", x, None, {}, input=x, weight=c))
    assert apply.dims["threads"] == threads


@pytest.mark.parametrize(
    ("shape", "stride", "inner"),
    [
        ((2, 4, 1, 3), (12, 1, 12, 4), 4),
        ((2, 4, 3), (12, 1, 4), 4),
        ((2, 4, 3), (12, 3, 1), 1),
        ((2, 1, 3, 3), (9, 1, 3, 1), 1),  # with one channel the strides do not tell
        ((2, 4), (4, 1), 4),  # one pixel per image
        ((2, 4, 3, 3), (36, 9, 3, 1), 1),
    ],
)
def test_channels_whose_elements_lie_apart(
    shape: tuple[int, ...], stride: tuple[int, ...], inner: int
) -> None:
    x, c = Tensor(shape, F32, stride), ((shape[1],), F32)
    *_, work = launched(sig("aten.batch_norm_stats.default", [c, c], None, {}, input=x))
    assert work.dims["inner"] == inner
    assert work.dims["runs"] == (1 if inner > 1 else shape[0] * shape[1])
