"""Blocks that run in several turns."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.lowering.turns import threads_of_unit, turns
from tests.simulator.costs.conftest import sig

OP = sig("aten.cumsum.default")


@pytest.mark.parametrize(
    ("name", "threads"), [("t4", 1024), ("a100_sxm_80", 2048), ("rtx4090", 1536), ("h200", 2048)]
)
def test_threads_of_a_unit(name: str, threads: int) -> None:
    assert threads_of_unit(gpu(name)) == threads


@pytest.mark.parametrize(("capability", "threads"), [
    # CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
    ((5, 0), 2048), ((7, 0), 2048), ((7, 5), 1024), ((8, 0), 2048), ((8, 6), 1536), ((8, 9), 1536),
    ((9, 0), 2048), ((10, 0), 2048), ((12, 0), 1536),
])  # fmt: skip
def test_threads_of_each_generation(capability: tuple[int, int], threads: int) -> None:
    assert threads_of_unit(replace(gpu("h200"), compute_capability=capability)) == threads


@pytest.mark.parametrize(
    ("blocks", "steps"),
    # 4 blocks of 512 threads per multiprocessor
    [(1, 7), (132 * 4, 7), (132 * 4 + 1, 14), (132 * 12, 21)],
)
def test_steps_of_all_turns(blocks: int, steps: int) -> None:
    work = Work("scan", dims={"blocks": blocks, "threads": 512, "steps": 7})
    assert turns(OP, work, gpu("h200"))[0].dims["steps"] == steps


def test_others_are_as_they_are() -> None:
    work = Work("scan", dims={"steps": 7})
    assert turns(OP, work, gpu("h200")) == (work,)
