"""Random draws of four numbers by the resident threads of a GPU, counted by hand."""

from __future__ import annotations

import pytest

from simulator.costs.movement.fills import PHILOX
from simulator.hardware.gpu import gpu
from simulator.lowering import launches
from tests.simulator.costs.conftest import sig

THREADS = 132 * 2048  # of an H200


@pytest.mark.parametrize(
    ("n", "draws"),
    # up to one grid, each draw serves one element; beyond that, four
    [(1000, 1000), (THREADS, THREADS), (THREADS + 1, THREADS), (4 * THREADS, THREADS),
     (4 * THREADS + 1, 2 * THREADS)],
)  # fmt: skip
def test_draws(n: int, draws: int) -> None:
    x = ((n,), "float32")
    kernels = launches(sig("aten.bernoulli_.float", x, (0, 0), {"p": 0.1}, self=x), gpu("h200"))
    assert kernels is not None
    # 2 more instructions per element
    assert [work.instructions for work in kernels] == [PHILOX * draws + 2 * n]


def test_dropout_in_words_throws_nothing_away() -> None:
    x = ((4096,), "bfloat16")
    op = sig("aten.native_dropout.default", [x, ((4096,), "bool")], None, {"train": True}, input=x)
    kernels = launches(op, gpu("h200"))
    assert kernels is not None
    # 1024 draws serve four elements each; 6 instructions per element
    assert kernels[0].instructions == PHILOX * 1024 + 6 * 4096
