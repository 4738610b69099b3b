"""Reuse distances against a loop over the ops, and against hand-computed ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simulator.records import Signature, Tensor, Trace
from simulator.schedule.l2_reuse import NEVER, Accesses, _sizes, accesses
from simulator.tracing import trace
from tests.simulator.conftest import Calls


def slow(traced: Trace, launching: list[bool]) -> list[tuple[int, int, int]]:
    """Op, bytes and distance of each access, one op at a time."""
    traffic, last, reuses = 0, dict[int, int](), list[tuple[int, int, int]]()
    for place, op in enumerate(traced.ops):
        if not launching[place]:
            continue
        signature = traced.signatures[0][traced.signatures[1][place]]
        before = traffic
        tensors = [*signature.inputs, *signature.outputs]
        for i, (tensor, storage) in enumerate(zip(tensors, op.storages, strict=True)):
            distance = tensor.nbytes
            if i < len(signature.inputs):
                distance = before - last[storage] + distance if storage in last else PEAK_BYTES
            reuses.append((place, tensor.nbytes, distance))
        traffic += sum(tensor.nbytes for tensor in tensors)
        last |= dict.fromkeys(op.storages, traffic)
    return reuses


def listed(each: Accesses) -> list[tuple[int, int, int]]:
    return list(zip(each.op.tolist(), each.bytes.tolist(), each.distance.tolist(), strict=True))


X = torch.ones(100)  # 400 bytes
STEP = trace(Calls(lambda _, x: ((x * 2) + x).exp() * x), (X,))
PEAK_BYTES = 5 * 512  # w, b, x, and while a loop runs also its other operand and its result


def test_distances_by_hand() -> None:
    # x·2 touches 400 + 400 bytes; its sum with x 1,200; exp 800; the product with x 1,200
    assert listed(accesses(STEP, np.ones(4, bool))) == [
        (0, 400, PEAK_BYTES), (0, 400, 400),
        (1, 400, 400), (1, 400, 400), (1, 400, 400),
        (2, 400, 400), (2, 400, 400),
        # x was touched two ops ago; since then exp touched 800 bytes
        (3, 400, 400), (3, 400, 800 + 400), (3, 400, 400),
    ]  # fmt: skip


def test_a_single_step_reads_its_inputs_from_dram() -> None:
    repeated, single = (listed(accesses(STEP, np.ones(4, bool), each)) for each in (True, False))
    assert single == [(0, 400, NEVER), *repeated[1:]]


@pytest.mark.parametrize("skipped", [(), (0,), (2,), (0, 3)])
def test_distances_are_those_of_a_loop(skipped: tuple[int, ...]) -> None:
    launching = [place not in skipped for place in range(4)]
    assert listed(accesses(STEP, np.array(launching))) == slow(STEP, launching)


def test_l2_serves_what_fits() -> None:
    reuses = accesses(STEP, np.ones(4, bool))
    assert reuses.hot_share(400).tolist() == pytest.approx([0.5, 1, 1, 2 / 3])
    assert reuses.hot_share(1199).tolist() == pytest.approx([0.5, 1, 1, 2 / 3])
    assert reuses.hot_share(1200).tolist() == pytest.approx([0.5, 1, 1, 1])
    assert reuses.hot_share(399).tolist() == [0, 0, 0, 0]


def test_l2_serves_the_inputs_of_a_repeated_step_that_fits() -> None:
    reuses = accesses(STEP, np.ones(4, bool))
    assert reuses.hot_share(2559).tolist() == [0.5, 1, 1, 1]
    assert reuses.hot_share(2560).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("stated", "sizes"),
    [
        # 400 bytes read and 1,200 written are scaled to the stated bytes, but never below the op's
        # own
        ({}, [400, 1200]),
        ({"stated_bytes": 1599}, [400, 1200]),
        ({"stated_bytes": 1600}, [400, 1200]),
        ({"stated_bytes": 4800}, [1200, 3600]),
    ],
)
def test_stated_traffic_is_spread_over_an_op(stated: dict[str, int], sizes: list[int]) -> None:
    small, large = Tensor((100,), "float32", (1,)), Tensor((300,), "float32", (1,))
    assert _sizes(Signature("mine.op", (small,), (large,), ("x",), stated), {}) == sizes


def test_stated_traffic_is_spread_over_a_single_byte() -> None:
    byte = Tensor((1,), "int8", (1,))
    assert _sizes(Signature("mine.op", (byte,), (), ("x",), {"stated_bytes": 64}), {}) == [64]


def test_an_op_of_no_bytes_has_none_to_spread() -> None:
    none = Tensor((0,), "float32", (1,))
    assert _sizes(Signature("mine.op", (none,), (none,), ("x",), {"stated_bytes": 64}), {}) == [
        0,
        0,
    ]


def test_the_sizes_of_a_long_list_are_those_of_its_tensors() -> None:
    several = tuple(Tensor((n,), "float32", (1,)) for n in range(1, 41))
    total = Tensor((7,), "float32", (1,))
    op = Signature("aten._foreach_norm.Scalar", several, (total,), ("self",) * 40, {})
    assert _sizes(op, {}) == [4 * n for n in range(1, 41)] + [28]


def test_a_single_byte_and_no_byte_have_a_share_too() -> None:
    touched = Accesses(np.array([0, 2]), np.array([1, 3]), np.array([5, 50]), 3)
    assert touched.hot_share(5).tolist() == [1, 0, 0]
    assert touched.hot_share(50).tolist() == [1, 0, 1]


def test_the_first_access_of_a_step_is_remembered_even_if_it_has_no_bytes() -> None:
    step = trace(Calls(lambda _, x: (x * 2).exp()), (torch.ones(0),))
    assert listed(accesses(step, np.ones(2, bool))) == [
        (0, 0, 1024),  # w and b
        (0, 0, 0),
        (1, 0, 0),
        (1, 0, 0),  # written before any traffic
    ]
