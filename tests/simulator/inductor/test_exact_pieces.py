"""Schedules of the pieces of a step, inserted into its eager trace.

The schedules are those that the Inductor of torch 2.13 makes of `breaking.Item`, whose two graphs
have one op between them.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from simulator import trace
from simulator.fusion import Fused, fused
from simulator.fusion.graphs import graph_break_notes, graphs
from simulator.hardware.gpu import gpu
from simulator.inductor.answer import Answer
from simulator.inductor.breaks.exact_pieces import exact_pieces
from simulator.inductor.breaks.pieces import Piece, broken
from simulator.inductor.schedule import Buffer, Launch, Origin, Schedule
from simulator.records import Signature, Tensor, Trace
from tests.simulator.fusion import breaking

ASKS = "breaking.py, line 48", "it said so"
EDGE = Piece(False, [])
UP = ["aten.t.default", "aten.addmm.default", "aten.relu.default"]
SUM, SCALE, ITEM = "aten.sum.default", "aten.mul.Tensor", "aten._local_scalar_dense.default"
BLOCK = [
    Piece(True, [*UP, SUM], *ASKS, 0),
    Piece(False, [ITEM]),
    Piece(True, [*UP, SCALE], "", "", 1),
]
WEIGHTS = [Buffer(16384, "weight"), Buffer(256, "weight"), Buffer(2048, "input")]  # 64·64·4, 64·4
ROWS = Buffer(2048, "activation")  # 8·64·4
ROW, SQUARE = Tensor((8, 64), "float32", (64, 1)), Tensor((64, 64), "float32", (1, 64))
MM = Signature("aten.mm.default", (ROW, SQUARE), (ROW,), ("self", "mat2"), {})
PRODUCT = Launch(
    "library",
    "extern_kernels.mm",
    "forward",
    (0,),
    ((2, 2048), (0, 16384)),
    ((3, 2048),),
    call=MM,
    operands=(2, 0, 3),
)


def origins(module: str, last: str) -> list[Origin]:
    """Module paths as they appear in a graph that begins in the block."""
    return [
        Origin(UP[1], module, "forward"),
        Origin(UP[2], "", "forward"),
        Origin(last, "", "forward"),
    ]


FIRST = Schedule(
    [PRODUCT, Launch("reduction", "triton_red", "forward", (0, 1, 2), ((1, 256), (3, 2048)),
                     ((4, 2048), (5, 4)))],
    [*WEIGHTS, ROWS, ROWS, Buffer(4, "activation")], origins("up", SUM), "2.13.0", "3.9.0",
)  # fmt: skip
SECOND = Schedule(
    [PRODUCT, Launch("pointwise", "triton_poi", "forward", (0, 1, 2), ((1, 256), (3, 2048)),
                     ((4, 2048),))],
    [*WEIGHTS, ROWS, ROWS], origins("down", SCALE), "2.13.0", "3.9.0",
)  # fmt: skip


def answered(
    answer: Answer, network: type[breaking.Two] | type[breaking.Looped], phase: str
) -> Fused:
    module = network()
    own: Trace = trace(module, module.example_inputs(8, 0), phase=phase)  # pyright: ignore
    return exact_pieces(answer, fused(broken(own, answer.pieces), gpu("h200")))


def item(first: Schedule | str = FIRST, phase: str = "inference") -> Fused:
    return answered(Answer(None, [EDGE, *BLOCK, EDGE], [first, SECOND], "so"), breaking.Item, phase)


def test_each_graph_has_its_own_launches_and_what_lies_between_runs_eagerly() -> None:
    item_trace = item().trace
    names = [op.name.split(".")[1] for op in item_trace.ops]
    assert names == ["mm", "reduction", "_local_scalar_dense", "mm", "pointwise"]
    assert [number for _, number in graphs(item_trace).of] == [0, 0, 1, 2, 2]
    assert [(b.op, b.until, b.back, b.reason) for b in item_trace.breaks] == [
        (2, 3, 0, "it said so")
    ]


def test_a_graph_hands_on_what_the_next_one_reads() -> None:
    _, first, item_read, product, _ = item().trace.ops
    rows, total = first.storages[-2:]
    assert item_read.storages == (total,)
    assert product.storages[0] == rows


def test_groups_name_the_eager_ops() -> None:
    step = item()  # t addmm relu sum item t addmm relu mul
    assert [step.members(n) for n in range(5)] == [(1,), (1, 2, 3), (4,), (6,), (6, 7, 8)]


def test_a_schedule_that_two_blocks_share_is_laid_into_both() -> None:
    pieces = [Piece(False, UP), *BLOCK, EDGE, *BLOCK, Piece(False, [SCALE, UP[2]])]
    step = answered(Answer(None, pieces, [FIRST, SECOND], "so"), breaking.Looped, "inference")
    ops = step.trace.ops  # t addmm relu, twice mm red item mm poi, mul relu
    assert len(ops) == 3 + 2 * 5 + 2
    weights = [op.storages[1] for op in ops if op.name == "aten.mm.default"]
    assert len(set(weights)) == 4
    assert all(step.trace.storages[w].role == "weight" for w in weights)
    assert {step.origin.ops[op].module for op in step.members(3)} == {"blocks.0.up"}


def test_graphs_that_inductor_cannot_schedule_use_the_rules() -> None:
    step = item("NotImplementedError: no loop")
    assert [op.name.split(".")[1] for op in step.trace.ops] == [
        "mm",
        "reduction",
        "_local_scalar_dense",
        "mm",
        "pointwise",
    ]
    assert step.notes == (
        "some graphs scheduled and written as source code by Inductor of torch 2.13.0 itself "
        "(triton 3.9.0); the optimizer stays eager",
        "the rules fuse 1 graph, which Inductor does not schedule: NotImplementedError: no loop",
    )


def test_a_break_whose_backward_pass_is_not_known_leaves_the_step_to_the_rules() -> None:
    """The eager trace has no break nearby, so it does not show where autograd leaves a graph."""
    pieces = [EDGE, Piece(True, UP, *ASKS, 0), EDGE, Piece(True, UP, "", "", 1), EDGE]
    step = answered(Answer(None, pieces, [FIRST, SECOND], "so"), breaking.Two, "training")
    assert step.notes[-1] == (
        "Dynamo cut the graphs, but the rules fuse each of them, because the breaks of the "
        "backward pass are unknown"
    )


def test_the_backward_pass_goes_the_other_way() -> None:
    """The rules fuse the first graph, Inductor the second; each graph runs backward once."""
    last = Launch(
        "library",
        "extern_kernels.mm",
        "backward",
        (0,),
        ((3, 2048), (0, 16384)),
        ((4, 2048),),
        call=MM,
        operands=(3, 0, 4),
    )
    second = Schedule([*SECOND.launches, last], SECOND.buffers, SECOND.origins, "2.13.0", "3.9.0")
    step = answered(
        Answer(None, [EDGE, *BLOCK, EDGE], ["no", second], "so"), breaking.Item, "training"
    ).trace
    parts = graphs(step)
    names = [
        (parts.of[i][1], op.name.split(".")[1])
        for i, op in enumerate(step.ops)
        if op.phase == "backward"
    ]
    assert names == [(2, "mm"), (4, "reduction"), (4, "mm")]


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (breaking.Item, "1 op (_local_scalar_dense) between them in eager mode"),
        (
            breaking.Looped,
            "7 ops (2 relu, 2 _local_scalar_dense, t, addmm, mul) between them in eager mode",
        ),
        (breaking.Prints, "0 ops between them in eager mode"),
    ],
)
def test_eager_ops_between_graphs_are_named(network: type[breaking.Two], said: str) -> None:
    module = network()
    own = trace(module, module.example_inputs(8, 0), phase="inference")
    assert graph_break_notes(own)[1].endswith(said)


def test_a_schedule_of_other_sizes_is_not_taken() -> None:
    """The trace has an assumption, and the product has 4 rows instead of 8."""
    other = Tensor((4, 64), "float32", (64, 1))
    small = replace(PRODUCT, call=replace(MM, inputs=(other, SQUARE), outputs=(other,)))
    step = item(replace(FIRST, launches=[small, *FIRST.launches[1:]]))
    assert step.origin.assumptions
    assert step.notes[-1] == (
        "the rules fuse 1 graph, which Inductor does not schedule: it assumes "
        "different data-dependent sizes"
    )
