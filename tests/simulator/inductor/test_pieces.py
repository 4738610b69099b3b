"""The graphs of Dynamo, matched with the eager trace. They come from Dynamo of torch 2.13, for the
networks of tests/simulator/fusion/breaking.py."""

from __future__ import annotations

import pytest
from torch import nn

from simulator import predict_trace, trace
from simulator.inductor.breaks.pieces import Piece, broken
from simulator.inductor.breaks.survey import explanation
from simulator.records import Break, Trace
from tests.simulator.fusion import breaking

UP = ["aten.t.default", "aten.addmm.default", "aten.relu.default"]
SUM, ITEM = "aten.sum.default", "aten._local_scalar_dense.default"
SCALE, DOUBLE = "aten.mul.Tensor", "aten.mul.Tensor"
ASKS = "breaking.py, line 48", "Dynamo does not support tracing `Tensor.item()`"
EDGE = Piece(False, [])
BLOCK = [Piece(True, [*UP, SUM], *ASKS), Piece(False, [ITEM]), Piece(True, [*UP, SCALE])]


def step(module: nn.Module, phase: str = "inference") -> Trace:
    return trace(module, module.example_inputs(8, 0), phase=phase)  # pyright: ignore


def places(breaks: list[Break]) -> list[tuple[int, int, int, int]]:
    return [(b.op, b.until, b.back, b.back_until) for b in breaks]


LOOPED = [Piece(False, UP), *BLOCK, EDGE, *BLOCK, Piece(False, [DOUBLE, UP[2]])]
UNROLLED = [
    EDGE,
    Piece(True, UP, *ASKS),
    EDGE,
    *BLOCK,
    EDGE,
    *BLOCK,
    EDGE,
    Piece(True, [DOUBLE, UP[2]]),
    EDGE,
]


@pytest.mark.parametrize(
    ("module", "pieces"), [(breaking.Looped, LOOPED), (breaking.Unrolled, UNROLLED)]
)
def test_the_eager_trace_has_the_same_breaks(module: type[nn.Module], pieces: list[Piece]) -> None:
    """The breaks found without a compiler are those that Dynamo finds."""
    own = step(module())
    parts = broken(own, pieces)
    assert places(parts.breaks) == places(own.breaks)
    assert [(b.where, b.reason) for b in parts.breaks if b.reason] == [ASKS, ASKS]


def test_the_backward_pass_is_cut_where_the_eager_step_was() -> None:
    own = step(breaking.Item(), "training")
    up = [*UP, "aten.detach.default"]
    down = Piece(True, [*up, SCALE])
    pieces = [EDGE, Piece(True, [*up, SUM], *ASKS), Piece(False, [ITEM]), down, EDGE]
    parts = broken(own, pieces)
    assert places(parts.breaks) == places(own.breaks) and own.breaks[0].back > 0


def test_names_that_one_side_lacks_are_passed_over() -> None:
    own = step(breaking.Item())  # t addmm relu sum item t addmm relu mul
    other = ["aten.t.default", "aten.mm.default", "aten.add.Tensor", "aten.relu.default", SUM]
    pieces = [EDGE, Piece(True, other, *ASKS), Piece(False, [ITEM]), Piece(True, [*UP, SCALE])]
    assert broken(own, pieces).breaks == [Break(4, 5, *ASKS)]


def test_dynamos_pieces_are_reported_and_predicted() -> None:
    pieces = broken(
        step(breaking.Two()),
        [EDGE, Piece(True, UP, "a.py, line 1", "it said so"), EDGE, Piece(True, UP), EDGE],
    )
    p = predict_trace(pieces, mode="compiled")
    assert p.notes[-2] == "torch.compile breaks its graph at a.py, line 1: it said so"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Encountered graph break when attempting to trace CALL: f(x)\n\nFailed to trace builtin "
         "operator\n  Explanation: Dynamo does not know how to trace builtin operator `print` with "
         "argument types ['str'] (has_kwargs False)\n  Hint: Avoid it.",
         "Dynamo does not know how to trace builtin operator `print` with argument types ['str'] "
         "(has_kwargs False)"),
        ("x\n  Explanation: Dynamo does not know how to trace the builtin `zlib.crc32.` This is C.",
         "Dynamo does not know how to trace the builtin `zlib.crc32.`"),
        ("x\n  Explanation: Skip calling function `<function apart at 0x7fcb>` since it was",
         "Skip calling function `<function apart>` since it was"),
        ("x\n  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).",
         "Dynamo does not support branching on the value of a tensor"),
        ("generic_jump TensorVariable()",
         "Dynamo does not support branching on the value of a tensor"),
    ],
)  # fmt: skip
def test_dynamos_words_are_its_first_sentence(text: str, first: str) -> None:
    assert explanation(text) == first
