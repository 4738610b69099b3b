"""Reuse distances against a loop over the ops, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from simulator.records import Trace
from simulator.schedule.l2_reuse import NEVER, Accesses, accesses
from simulator.tracing import trace
from tests.simulator.conftest import Calls


def slow(traced: Trace, launching: list[bool]) -> list[tuple[int, int, int]]:
    """Op, bytes and distance of each access, one op at a time."""
    traffic, last, found = 0, dict[int, int](), list[tuple[int, int, int]]()
    for place, op in enumerate(traced.ops):
        if not launching[place]:
            continue
        signature = traced.signatures[0][traced.signatures[1][place]]
        before = traffic
        tensors = [*signature.inputs, *signature.outputs]
        for i, (tensor, storage) in enumerate(zip(tensors, op.storages, strict=True)):
            distance = tensor.nbytes
            if i < len(signature.inputs):
                distance = before - last[storage] + distance if storage in last else int(NEVER)
            found.append((place, tensor.nbytes, distance))
        traffic += sum(tensor.nbytes for tensor in tensors)
        last |= dict.fromkeys(op.storages, traffic)
    return found


def listed(found: Accesses) -> list[tuple[int, int, int]]:
    return list(zip(found.op.tolist(), found.bytes.tolist(), found.distance.tolist(), strict=True))


X = torch.ones(100)  # 400 bytes
STEP = trace(Calls(lambda _, x: ((x * 2) + x).exp() * x), (X,))


def test_distances_by_hand() -> None:
    # x·2: 400 + 400 bytes; its sum with x: 1,200; exp: 800; the product with x: 1,200
    assert listed(accesses(STEP, np.ones(4, bool))) == [
        (0, 400, NEVER), (0, 400, 400),
        (1, 400, 400), (1, 400, 400), (1, 400, 400),
        (2, 400, 400), (2, 400, 400),
        # x was touched two ops ago: the 800 bytes of exp since
        (3, 400, 400), (3, 400, 800 + 400), (3, 400, 400),
    ]  # fmt: skip


@pytest.mark.parametrize("skipped", [(), (0,), (2,), (0, 3)])
def test_distances_are_those_of_a_loop(skipped: tuple[int, ...]) -> None:
    launching = [place not in skipped for place in range(4)]
    assert listed(accesses(STEP, np.array(launching))) == slow(STEP, launching)


def test_l2_serves_what_fits() -> None:
    found = accesses(STEP, np.ones(4, bool))
    assert found.hot_share(400).tolist() == pytest.approx([0.5, 1, 1, 2 / 3])
    assert found.hot_share(1199).tolist() == pytest.approx([0.5, 1, 1, 2 / 3])
    assert found.hot_share(1200).tolist() == pytest.approx([0.5, 1, 1, 1])
    assert found.hot_share(399).tolist() == [0, 0, 0, 0]
