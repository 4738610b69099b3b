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
    "many_readers/inference": 1,  # of 1, by the rules 1
    "long_chain/inference": 2,  # of 2, by the rules 2
    "joined/inference": 1,  # of 3, by the rules 2: part 0, x · 0, is written as zeros
    "turned_sums/inference": 4,  # of 5, by the rules 6
    "one_number/inference": 4,  # of 4, by the rules 4
    "norms/inference": 1,  # of 1, by the rules 1
    "long_rows/inference": 1,  # of 3, by the rules 3
    "cut_products/inference": 7,  # of 7, by the rules 7
    "written_in_place/inference": 1,  # of 2, by the rules 2
    "parts_of_one_size/inference": 3,  # of 3, by the rules 3
    "parts_of_many_sizes/inference": 13,  # of 13, by the rules 13
    "parts_of_kernels/inference": 13,  # of 13, by the rules 13
    "written_slices/inference": 3,  # of 4, by the rules 5
    "moved/inference": 5,  # of 5, by the rules 5
    "resized/inference": 2,  # of 3, by the rules 4
    "with_heads/inference": 3,  # of 5, by the rules 4
    "without_heads/inference": 6,  # of 8, by the rules 7
    "image_norms/inference": 8,  # of 11, by the rules 12
    "image_norms/training": 8,  # of 18, by the rules 21
    "looked_up/training": 3,  # of 7, by the rules 12
    "classified/training": 10,  # of 18, by the rules 19
    "normed_both_ways/training": 12,  # of 17, by the rules 22
    "gated/training": 8,  # of 13, by the rules 17
    "clamped/training": 18,  # of 22, by the rules 25
    "softmaxes_in_training/training": 8,  # of 18, by the rules 23
    "norms/training": 2,  # of 11, by the rules 10
}
"""The number of Inductor's launches that the rules predict with the same bytes."""


@pytest.mark.parametrize("name", RECORDED)
def test_launches_of_a_small_step_are_those_of_inductor(name: str) -> None:
    assert (RECORDED[name] & ruled(name)).total() >= AGREE[name]
