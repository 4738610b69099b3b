"""Launches of small steps against those of Inductor (torch 2.13), which `small_steps.record`
compiled without a GPU: the name of each launch, and the bytes that it reads and writes."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from simulator.fusion import fused
from simulator.scenario.resolve import resolve
from simulator.scenario.trace_source import trace_resolved
from tests.simulator.fusion.small_steps.record import LAUNCHES, scenario

RECORDED = {
    name: Counter(map(tuple, launches))
    for name, launches in json.loads(LAUNCHES.read_text("utf-8")).items()
}


def ruled(name: str) -> Counter[tuple[str, int, int]]:
    module, _, phase = name.partition("/")
    resolved = resolve(scenario(module, phase == "training"))
    ops = fused(trace_resolved(resolved), resolved.gpu).trace.ops
    return Counter((op.name, op.signature.read_bytes, op.signature.write_bytes) for op in ops)


AGREE = {
    "many_readers/inference": 1,  # Inductor: 1, the rules: 1
    "long_chain/inference": 2,  # Inductor: 2, the rules: 2
    "joined/inference": 1,  # Inductor: 3, the rules: 2: part 0, x · 0, is written as zeros
    "turned_sums/inference": 4,  # Inductor: 5, the rules: 6
    "one_number/inference": 4,  # Inductor: 4, the rules: 4
    "norms/inference": 1,  # Inductor: 1, the rules: 1
    "long_rows/inference": 1,  # Inductor: 3, the rules: 3
    "cut_products/inference": 7,  # Inductor: 7, the rules: 7
    "written_in_place/inference": 1,  # Inductor: 2, the rules: 2
    "parts_of_one_size/inference": 3,  # Inductor: 3, the rules: 3
    "parts_of_many_sizes/inference": 13,  # Inductor: 13, the rules: 13
    "parts_of_kernels/inference": 13,  # Inductor: 13, the rules: 13
    "written_slices/inference": 3,  # Inductor: 4, the rules: 5
    "moved/inference": 5,  # Inductor: 5, the rules: 5
    "resized/inference": 2,  # Inductor: 3, the rules: 4
    "with_heads/inference": 3,  # Inductor: 5, the rules: 4
    "without_heads/inference": 6,  # Inductor: 8, the rules: 7
    "image_norms/inference": 8,  # Inductor: 11, the rules: 12
    "image_norms/training": 8,  # Inductor: 18, the rules: 21
    "looked_up/training": 3,  # Inductor: 7, the rules: 12
    "classified/training": 10,  # Inductor: 18, the rules: 19
    "normed_both_ways/training": 12,  # Inductor: 17, the rules: 22
    "gated/training": 8,  # Inductor: 13, the rules: 17
    "clamped/training": 18,  # Inductor: 22, the rules: 25
    "softmaxes_in_training/training": 8,  # Inductor: 18, the rules: 23
    "norms/training": 2,  # Inductor: 11, the rules: 10
}
"""The number of Inductor's launches that the rules predict with the same bytes."""


@pytest.mark.layered(
    5,
    daily=[
        "parts_of_kernels/inference",
        "parts_of_many_sizes/inference",
        "written_in_place/inference",
    ],
)
@pytest.mark.parametrize("name", RECORDED)
def test_launches_of_a_small_step_are_those_of_inductor(name: str) -> None:
    assert (RECORDED[name] & ruled(name)).total() >= AGREE[name]
