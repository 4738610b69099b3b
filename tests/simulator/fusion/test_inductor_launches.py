"""Launches of the catalogue's networks against the recorded schedules of Inductor's own scheduler
(torch 2.13): the kind, bytes and FLOPs of each launch, and the rows and columns of reductions.

The numbers of launches that agree are floors: a rule that comes nearer to Inductor raises them.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pytest

from calibration.validate.inductor_agreement import agreement, stored
from simulator.records import Op


class Agreeing(NamedTuple):
    """Agreement of two schedules of a network: launches with equal bytes, generated launches with
    equal FLOPs too, those with equal rows and columns too, and eager ops in the same launch. The
    comments give the totals."""

    launches: int
    flops: int
    shapes: int
    ops: int


FLOORS = {
    "mlp-tiny/bf16/training": Agreeing(46, 17, 19, 48),  # of 48, 20, 20 and 48
    "mlp-wide/bf16/training": Agreeing(28, 9, 13, 28),  # of 30, 14, 14 and 28
    "mlp-tiny/bf16/inference": Agreeing(17, 8, 8, 17),  # of 17, 8, 8 and 17
    "mlp-wide/bf16/inference": Agreeing(11, 4, 6, 9),  # of 11, 6, 6 and 9
    "bert-base/bf16/inference": Agreeing(33, 3, 10, 48),  # of 34, 11, 11 and 48
    "gpt2/bf16/inference": Agreeing(26, 3, 10, 36),  # of 26, 10, 10 and 36
    "llama3-1b/bf16/inference": Agreeing(35, 3, 3, 84),  # of 41, 16, 16 and 84
    "llama3-1b-decode/bf16/inference": Agreeing(21, 3, 3, 90),  # of 52, 27, 27 and 90
    "t5-base/bf16/inference": Agreeing(126, 42, 42, 306),  # of 134, 67, 67 and 322
    "dlrm/bf16/inference": Agreeing(96, 59, 61, 71),  # of 97, 62, 62 and 71
    "vit-b16/bf16/training": Agreeing(116, 11, 11, 89),  # of 128, 79, 79 and 89
    "convnext-t/bf16/training": Agreeing(434, 91, 61, 384),  # of 554, 396, 396 and 390
    "vit-b16/bf16/inference": Agreeing(29, 5, 5, 35),  # of 29, 12, 12 and 35
    "swin-t/bf16/inference": Agreeing(174, 64, 73, 248),  # of 197, 120, 120 and 265
    "convnext-t/bf16/inference": Agreeing(121, 40, 40, 137),  # of 123, 64, 64 and 137
    "resnet50/bf16/inference": Agreeing(122, 18, 67, 174),  # of 122, 68, 68 and 174
    "resnet18/bf16/inference": Agreeing(57, 18, 35, 68),  # of 57, 36, 36 and 68
    "mobilenet-v2/bf16/inference": Agreeing(107, 2, 53, 151),  # of 107, 54, 54 and 151
    "convnet-tiny/bf16/inference": Agreeing(9, 4, 5, 8),  # of 9, 5, 5 and 8
    "unet/bf16/inference": Agreeing(480, 95, 102, 611),  # of 706, 392, 392 and 652
    "dit-xl/bf16/inference": Agreeing(36, 5, 8, 84),  # of 39, 16, 16 and 84
    "whisper-encoder/bf16/inference": Agreeing(35, 3, 4, 44),  # of 37, 13, 13 and 44
    "mamba2-130m/bf16/inference": Agreeing(41, 6, 9, 147),  # of 62, 37, 37 and 195
    "bert-base/bf16/training": Agreeing(152, 36, 45, 140),  # of 182, 107, 107 and 143
    "gpt2/bf16/training": Agreeing(106, 20, 35, 98),  # of 128, 80, 80 and 100
    "llama3-1b/bf16/training": Agreeing(108, 4, 7, 158),  # of 124, 50, 50 and 163
    "t5-base/bf16/training": Agreeing(339, 96, 88, 765),  # of 395, 191, 191 and 781
    "resnet18/bf16/training": Agreeing(147, 45, 74, 154),  # of 227, 182, 182 and 154
    "convnet-tiny/bf16/training": Agreeing(25, 6, 6, 27),  # of 30, 17, 17 and 27
    "dit-xl/bf16/training": Agreeing(151, 42, 35, 191),  # of 196, 130, 130 and 224
    "whisper-encoder/bf16/training": Agreeing(144, 28, 26, 122),  # of 172, 103, 103 and 122
    "dlrm/bf16/training": Agreeing(133, 46, 42, 103),  # of 143, 64, 64 and 105
    "mamba2-130m/bf16/training": Agreeing(180, 22, 46, 336),  # of 226, 152, 152 and 502
    "mlp-tiny/autocast/training": Agreeing(74, 45, 47, 77),  # of 78, 50, 50 and 77
    "bert-base/autocast/training": Agreeing(213, 98, 105, 227),  # of 246, 171, 171 and 233
    "gpt2/autocast/training": Agreeing(136, 56, 64, 151),  # of 163, 115, 115 and 152
    "vit-b16/autocast/training": Agreeing(145, 50, 52, 147),  # of 171, 122, 122 and 147
    "resnet18/autocast/training": Agreeing(178, 71, 87, 199),  # of 256, 211, 211 and 199
    "mlp-tiny/fp32/inference": Agreeing(17, 8, 8, 17),  # of 17, 8, 8 and 17
    "mlp-wide/fp32/inference": Agreeing(9, 4, 4, 9),  # of 9, 4, 4 and 9
    "bert-base/fp32/inference": Agreeing(33, 0, 10, 48),  # of 34, 11, 11 and 48
    "gpt2/fp32/inference": Agreeing(26, 0, 10, 36),  # of 26, 10, 10 and 36
    "llama3-1b/fp32/inference": Agreeing(47, 9, 9, 108),  # of 53, 25, 25 and 108
    "llama3-1b-decode/fp32/inference": Agreeing(50, 12, 12, 96),  # of 56, 28, 28 and 105
    "t5-base/fp32/inference": Agreeing(126, 42, 42, 258),  # of 134, 67, 67 and 270
    "vit-b16/fp32/inference": Agreeing(29, 2, 5, 35),  # of 29, 12, 12 and 35
    "swin-t/fp32/inference": Agreeing(170, 12, 69, 253),  # of 188, 111, 111 and 265
    "convnext-t/fp32/inference": Agreeing(123, 22, 40, 137),  # of 123, 64, 64 and 137
    "resnet50/fp32/inference": Agreeing(122, 18, 67, 174),  # of 122, 68, 68 and 174
    "resnet18/fp32/inference": Agreeing(57, 18, 35, 68),  # of 57, 36, 36 and 68
    "mobilenet-v2/fp32/inference": Agreeing(107, 2, 53, 151),  # of 107, 54, 54 and 151
    "convnet-tiny/fp32/inference": Agreeing(9, 4, 5, 8),  # of 9, 5, 5 and 8
    "dit-xl/fp32/inference": Agreeing(32, 1, 7, 83),  # of 39, 16, 16 and 83
    "whisper-encoder/fp32/inference": Agreeing(35, 0, 4, 44),  # of 37, 13, 13 and 44
    "dlrm/fp32/inference": Agreeing(94, 59, 59, 71),  # of 95, 60, 60 and 71
    "multiply-adds/bf16/inference": Agreeing(1, 1, 1, 2),  # of 1, 1, 1 and 2
    "multiply-adds/fp32/inference": Agreeing(1, 1, 1, 2),  # of 1, 1, 1 and 2
    "mamba2-130m/fp32/inference": Agreeing(41, 6, 13, 132),  # of 62, 37, 37 and 171
}

ROWS = {row.case.name: row for row in stored()}


def _common(real: list[Op], rules: list[Op], *names: str) -> int:
    """The number of pairs of launches with equal bytes and equal values of these arguments. If no
    argument is named, calls are compared."""
    keys = [
        Counter(
            (
                op.name,
                op.signature.read_bytes,
                op.signature.write_bytes,
                *(op.signature.arg(n) for n in names),
            )
            if op.name.startswith("fused.")
            else (op.name, *sorted((t.shape, t.dtype) for t in op.inputs))
            for op in launches
            if op.name.startswith("fused.") or not names
        )
        for launches in (real, rules)
    ]
    return (keys[0] & keys[1]).total()


def agreeing(name: str) -> Agreeing:
    row = ROWS[name]
    assert row.schedule is not None
    both = agreement(row.case, row.schedule)
    real, rules = both.real.launches, both.rules.launches
    return Agreeing(
        _common(real, rules),
        _common(real, rules, "flops"),
        _common(real, rules, "rows", "cols"),
        both.same,
    )


@pytest.mark.layered(
    5,
    daily=[
        "bert-base/autocast/training",
        "convnext-t/bf16/training",
        "mamba2-130m/bf16/training",
        "resnet18/autocast/training",
    ],
)
@pytest.mark.parametrize("name", FLOORS)
def test_launches_are_those_of_inductor(name: str) -> None:
    counts = agreeing(name)
    assert all(count >= floor for count, floor in zip(counts, FLOORS[name], strict=True)), counts
