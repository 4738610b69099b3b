"""Fused kernels of a compiled step are counted once, although some compute an op again."""

from __future__ import annotations

from app.scenes.fusion import parts, scene
from simulator.analysis.block_diagram import BlockDiagram
from tests.simulator.whatif.conftest import small_scenario

COMPILED = small_scenario("gpt2", mode="compiled", seq=16)


def test_an_op_belongs_to_one_kernel() -> None:
    diagram = BlockDiagram(COMPILED)
    members = [op for each in diagram.sets for op in each.members]
    assert members and len(members) == len(set(members))
    launches = sum(block.launches for block in diagram.blocks.values())
    assert 0 < sum(each.launches_removed for each in diagram.sets) < launches


def test_a_part_has_a_kernel_for_each_set_and_each_other_launch() -> None:
    diagram = BlockDiagram(COMPILED)
    for name, ops in parts(diagram).items():
        part = scene(diagram, name, ops)
        saved, fewer = part.saved
        unfused, joined = part.bars
        assert saved == sum(size for _, size, _ in unfused) - sum(size for _, size, _ in joined)
        assert 0 <= fewer < part.launches
        inside = {op: part.set_of(op) for op in part.blocks}
        single = [part.blocks[op].launches for op, each in inside.items() if each is None]
        assert part.launches - fewer == sum(single) + len(part.sets)
