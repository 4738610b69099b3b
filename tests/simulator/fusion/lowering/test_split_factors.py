"""Parts of reductions against `InductorChoices.reduction_split_factor` of the installed torch."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
import torch
from torch._inductor import choices

from simulator.fusion.lowering.reductions import parts
from simulator.hardware.gpu import gpu

CARDS = {"h200": 132, "a100_sxm_80": 108}


@pytest.fixture(params=CARDS)
def card(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A card whose number of multiprocessors torch reads as that of its device."""
    properties = SimpleNamespace(
        multi_processor_count=CARDS[request.param],
        warp_size_or_default=32,
        max_threads_per_multi_processor=2048,
        major=9,
    )
    monkeypatch.setattr(choices, "DeviceProperties", SimpleNamespace(create=lambda _: properties))
    return request.param


def of_torch(rows: int, cols: int, inner: bool, units: int) -> int:
    """torch's split factor, after the special cases of `Reduction.num_splits`
    (torch/_inductor/ir.py)."""
    if rows > 1 and (cols <= 32 or rows >= units * 2 * 32):
        return 1
    return choices.InductorChoices.reduction_split_factor(
        torch.device("cpu"), cols, rows, inner or rows == 1
    )


def sizes(units: int) -> list[tuple[int, int]]:
    chance = random.Random(units)
    drawn = [
        (round(2 ** chance.uniform(0, 13)), round(2 ** chance.uniform(4, 24))) for _ in range(250)
    ]
    smooth = [(2 ** chance.randint(0, 9), 3 * 5 * 2 ** chance.randint(4, 20)) for _ in range(100)]
    # The thresholds: the numbers of results and elements from which a reduction is split, and 32
    # and 512 elements for each of the 2,048 threads of a multiprocessor.
    rows = [(n, 2**20) for n in (2 * units - 1, 2 * units, 64 * units - 1, 64 * units)]
    cols = [(n, size) for n in (1, 7, 4 * units) for size in (31, 32, 33, 8191, 8192, 8193)]
    threads = [
        (n, each * units * 2048 // n + more)
        for n in (1, 2, 4, 128)
        for each in (32, 512)
        for more in (-1, 0, 1)
    ]
    # 16 elements per thread; the only divisor near that is 1, so 32
    prime = [(1280, 6763)]
    return drawn + smooth + rows + cols + threads + prime


@pytest.mark.parametrize("inner", [True, False])
def test_a_reduction_is_split_as_by_inductor(card: str, inner: bool) -> None:
    units, split = CARDS[card], 0
    for rows, cols in sizes(units):
        expected = of_torch(rows, cols, inner, units)
        assert parts(rows, cols, inner, gpu(card)) == expected, (rows, cols)
        split += expected > 1
    assert split > 80
