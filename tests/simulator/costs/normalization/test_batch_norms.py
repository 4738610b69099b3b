"""Batch normalization against hand-computed sums."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig

IMAGE = ((2, 4, 3, 3), "float32")
C = ((4,), "float32")


def test_cudnn_training_writes_the_running_values() -> None:
    (work,) = launched(
        sig(
            "aten.cudnn_batch_norm.default",
            [IMAGE, C, C, ((0,), "uint8")],
            args={"training": True},
            input=IMAGE,
            weight=C,
            bias=C,
            running_mean=C,
            running_var=C,
        )
    )
    # reads 2·4·9·4 = 288 bytes and four vectors of 16; writes the output, two saved and two running
    # vectors
    assert (work.read_bytes, work.write_bytes) == (352, 352)
    # 4 channels of 2 images are 8 runs of 9 pixels
    shape = {"rows": 4, "cols": 18, "inner": 1, "runs": 8, "variant": "cudnn_planes"}
    assert {name: work.dims[name] for name in shape} == shape


def test_an_empty_input_without_channels_launches_nothing() -> None:
    empty = ((0,), "float32")
    args = {"training": False, "momentum": 0.1, "eps": 1e-5}
    op = sig("aten.native_batch_norm.default", [empty] * 3, args=args, input=empty)
    assert launched(op) == ()


def test_cudnn_channels_last_clears_counters() -> None:
    last = Tensor((2, 4, 3, 3), "float32", (36, 1, 12, 4))
    kernels = launched(
        sig(
            "aten.cudnn_batch_norm_backward.default",
            [last, C, C],
            input=last,
            grad_output=last,
            weight=C,
            running_mean=C,
            running_var=C,
            save_mean=C,
            save_var=C,
        )
    )
    assert [w.family for w in kernels] == ["fill", "batch_norm_backward"]


def native_training(x: Any, channel: Any) -> tuple[Work, ...]:
    return launched(
        sig(
            "aten.native_batch_norm.default",
            [x, channel, channel],
            args={"training": True},
            input=x,
            weight=channel,
            bias=channel,
            running_mean=channel,
            running_var=channel,
        )
    )


def test_native_batch_norm_training_is_three_launches() -> None:
    half = ((2, 4, 3, 3), "bfloat16")
    kernels = native_training(half, C)
    # 144 bytes of x for the moments; 16·4 for the update; to apply: x, mean, rstd, weight and bias
    assert [w.read_bytes for w in kernels] == [144, 64, 144 + 64]
    assert [w.write_bytes for w in kernels] == [32, 48, 144]


def test_native_backward_fuses_unless_channels_last() -> None:
    inputs: dict[str, Any] = {"weight": C, "save_mean": C, "save_invstd": C}
    plain = launched(
        sig(
            "aten.native_batch_norm_backward.default",
            [IMAGE, C, C],
            args={"train": True},
            grad_out=IMAGE,
            input=IMAGE,
            **inputs,
        )
    )
    assert len(plain) == 1
    last = Tensor((2, 4, 3, 3), "float32", (36, 1, 12, 4))
    kernels = launched(
        sig(
            "aten.native_batch_norm_backward.default",
            [last, C, C],
            args={"train": True},
            grad_out=last,
            input=last,
            **inputs,
        )
    )
    # 18 pixels of 4 channels fit in one block, so no second block adds to them
    assert [w.family for w in kernels] == ["batch_norm_backward", "norm_apply"]


@pytest.mark.parametrize(
    ("batch", "channels", "side", "blocks", "steps", "shared"),
    [
        # tiles of 32 channels × 16 threads of 16 pixels: 972 pixels are 4 blocks, below the limit
        # of 8
        (12, 260, 9, 9, 16, False),
        (255, 16, 21, 128, 7, True),  # 16 × 32 threads; 112,455 pixels, in at most 128 blocks
    ],
)
def test_channels_last_blocks_meet_where_there_are_eight(
    batch: int, channels: int, side: int, blocks: int, steps: int, shared: bool
) -> None:
    stride = (channels * side * side, 1, channels * side, channels)
    x = Tensor((batch, channels, side, side), "bfloat16", stride)
    c = ((channels,), "float32")
    kernels = native_training(x, c)
    assert [w.family for w in kernels][:-3] == ["fill"] * shared
    dims = kernels[-3].dims
    assert (dims["blocks"], dims["steps"], dims["shared"]) == (blocks, steps, shared)


def test_atens_batch_norm_of_rows_has_its_channels_last() -> None:
    rows, channel = ((64, 24), "float32"), ((24,), "float32")
    call: dict[str, Any] = {"input": rows, "weight": channel, "bias": channel}
    norm = sig(
        "aten.native_batch_norm.default", [rows, channel, channel], args={"training": True}, **call
    )
    moments, _, apply = launched(norm)
    assert (moments.dims["variant"], apply.dims["variant"]) == ("last", "last")
    # one kernel reduces and another applies; a gradient with gaps uses the general kernel
    name = "aten.native_batch_norm_backward.default"
    sliced = Tensor((64, 24), "float32", (100, 1))
    kinds = [
        [w.dims["variant"] for w in launched(sig(name, [rows], grad_out=grad, **call))]
        for grad in (rows, sliced)
    ]
    assert kinds == [["last", "last"], ["planes"]]
