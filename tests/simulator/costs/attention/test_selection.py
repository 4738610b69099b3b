"""Which attention kernel handles a call: each test violates one requirement of sdp_utils.cpp."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from simulator.costs.attention.selection import Attention, choose, takes
from simulator.records import Tensor
from tests.simulator.costs.conftest import tensor

HOPPER, AMPERE, TURING, PASCAL, KEPLER = (9, 0), (8, 0), (7, 5), (6, 1), (3, 5)


def qkv(heads: int = 8, length: int = 64, width: int = 64, dtype: str = "bfloat16") -> Tensor:
    return tensor(((2, heads, length, width), dtype))


def call(capability: tuple[int, int] = HOPPER, **changes: Any) -> Attention:
    return replace(Attention(capability, qkv(), qkv(), qkv()), **changes)


def all_as(**how: Any) -> dict[str, Tensor]:
    return {name: qkv(**how) for name in ("query", "key", "value")}


MASK = tensor(((2, 8, 64, 64), "bfloat16"))
GAPS = Tensor((2, 8, 64, 64), "bfloat16", (65536, 8192, 128, 2))


@pytest.mark.parametrize(
    ("changes", "takers"),
    [
        ({}, "cudnn flash efficient"),
        ({"capability": (10, 0)}, "cudnn flash efficient"),
        ({"capability": AMPERE}, "cudnn flash efficient"),
        # bf16 needs Ampere or later
        ({"capability": TURING}, ""),
        ({"capability": TURING, **all_as(dtype="float16")}, "efficient"),
        ({"capability": KEPLER, **all_as(dtype="float32")}, ""),
        ({"capability": (5, 0), **all_as(dtype="float32")}, "efficient"),
        (all_as(dtype="float32"), "efficient"),
        (all_as(dtype="float64"), ""),
        ({"mask": MASK}, "cudnn efficient"),
        ({"mask": MASK, "learned": True}, "efficient"),
        # a mask that is expanded along the keys
        ({"mask": Tensor(MASK.shape, "bfloat16", (64, 64, 1, 0))}, ""),
        ({"query": GAPS}, ""),
        ({"key": GAPS}, ""),
        ({"value": GAPS}, ""),
        (all_as(width=256), "cudnn flash efficient"),
        (all_as(width=264), "efficient"),
        # sizes must be multiples of 16 bytes, which are 8 elements of bf16
        (all_as(width=60), "flash"),
        (all_as(width=60, dtype="float32"), "efficient"),
        (all_as(width=62, dtype="float32"), ""),
        ({"value": qkv(width=128)}, "cudnn efficient"),
        ({"value": qkv(width=60)}, ""),
        ({"value": qkv(width=264)}, "efficient"),
        ({"causal": True}, "cudnn flash efficient"),
        ({"causal": True, "query": qkv(length=32)}, "cudnn efficient"),
        ({"query": qkv(length=32)}, "cudnn flash efficient"),
        ({"query": qkv(length=0)}, ""),
        ({"key": qkv(length=0), "value": qkv(length=0)}, ""),
        ({"key": qkv(length=1), "value": qkv(length=1)}, "cudnn flash efficient"),
        ({"key": qkv(heads=2), "value": qkv(heads=2)}, ""),
        ({"key": qkv(heads=2), "value": qkv(heads=2), "grouped": True}, "cudnn flash"),
        ({"query": tensor(((8, 64, 64), "bfloat16"))}, ""),
    ],
)
def test_a_kernel_takes_calls_that_meet_its_needs(changes: dict[str, Any], takers: str) -> None:
    asked = call(**changes)
    kernels = ("cudnn", "flash", "efficient", "math")
    assert [kernel for kernel in kernels if takes(kernel, asked)] == [*takers.split(), "math"]


@pytest.mark.parametrize(
    ("capability", "changes", "chosen"),
    [
        # cuDNN is tried first only on Hopper and data-centre Blackwell
        (HOPPER, {}, "cudnn"), ((10, 0), {}, "cudnn"), ((12, 0), {}, "flash"),
        (AMPERE, {}, "flash"), ((8, 9), {}, "flash"),
        (AMPERE, {"mask": MASK}, "efficient"), (HOPPER, {"mask": MASK}, "cudnn"),
        (TURING, {}, "math"), (PASCAL, all_as(dtype="float16"), "efficient"),
        (HOPPER, all_as(dtype="float32"), "efficient"), (HOPPER, all_as(dtype="float64"), "math"),
        (HOPPER, all_as(width=60), "flash"),
    ],
)  # fmt: skip
def test_the_first_that_can_is_chosen(
    capability: tuple[int, int], changes: dict[str, Any], chosen: str
) -> None:
    assert choose(call(capability, **changes)) == chosen


def test_attention_has_no_options_by_default() -> None:
    plain = Attention(AMPERE, qkv(), qkv(), qkv())
    assert (plain.mask, plain.causal, plain.grouped, plain.learned) == (None, False, False, False)
    assert (plain.heads, plain.widths) == ((8, 8, 8), (64, 64, 64))
