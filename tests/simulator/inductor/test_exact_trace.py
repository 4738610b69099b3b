"""A schedule as a trace, without running a compiler."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from msgspec.structs import replace

from simulator.hardware.gpu import gpu
from simulator.inductor.breaks.graph_breaks import line_of, reason
from simulator.inductor.exact import question_of
from simulator.inductor.exact_trace import eager_ops, exact_trace
from simulator.inductor.loop_ops import steps
from simulator.inductor.question import Question, decoded, encoded
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Buffer, Launch, Origin, Schedule
from simulator.records import Op, Signature, Storage, Tensor, Trace
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

H200 = gpu("h200")
ROWS = Tensor((4, 8), "float32", (8, 1))  # 128 bytes


def trace() -> Trace:
    names = ("aten.exp.default", "aten.add.Tensor", "aten.add.Tensor")
    ops = [
        Op(Signature(name, (ROWS,), (ROWS,), ("self",), {}), "a", "forward", (i, i + 1))
        for i, name in enumerate(names)
    ]
    storages = [
        Storage(128, -1, None, "input"),
        Storage(128, 0, 2, "activation"),
        Storage(128, 1, 3, "activation"),
        Storage(128, 2, None, "activation"),
    ]
    return Trace(ops, storages, "inference", None, 4, None, 0, 0, [], "2.13", "h200_sxm")


def schedule(*origins: Origin) -> Schedule:
    launch = Launch(
        "pointwise",
        "triton_poi",
        "forward",
        tuple(range(len(origins))),
        ((0, 128),),
        ((1, 128),),
        flops=96,
    )
    buffers = [Buffer(128, "input"), Buffer(128, "activation")]
    return Schedule([launch], buffers, list(origins), "2.13", "3.9")


def test_ops_are_identified_by_name_and_number_in_their_module() -> None:
    timeline = schedule(
        Origin("aten.add.Tensor", "a", "forward", 1), Origin("aten.exp.default", "a", "forward")
    )
    assert eager_ops(timeline, trace()) == [[2], [0]]


def test_what_only_the_compiler_takes_apart_is_the_rest_of_its_module() -> None:
    timeline = schedule(
        Origin("aten.exp.default", "a", "forward"), Origin("aten.rsqrt.default", "a", "forward")
    )
    assert eager_ops(timeline, trace()) == [[0], [1, 2]]


def test_a_launch_is_an_op_with_its_own_bytes() -> None:
    exact = exact_trace(schedule(Origin("aten.exp.default", "a", "forward")), trace())
    (op,) = exact.trace.ops
    assert op.name == "fused.pointwise.default" and op.signature.args["ops"] == "exp"
    assert (op.signature.read_bytes, op.signature.write_bytes) == (128, 128)
    assert op.storages == (0, 4)  # the eager trace's own input, and one more
    assert exact.trace.storages[1].nbytes == 0  # its values were fused away
    assert "triton 3.9" in exact.notes[0]


def test_notes_of_a_schedule_are_notes_of_the_trace() -> None:
    note = "scheduled with 4 and with 5 of the 12 identical blocks of layers"
    changed = replace(schedule(Origin("aten.exp.default", "a", "forward")), notes=(note,))
    assert exact_trace(changed, trace()).notes[1:] == (note,)


def stepped(*ops: Op) -> Trace:
    storages = [Storage(128, -1, None, "input")] * 8
    return Trace(list(ops), storages, "training", None, 4, None, 0, 0, [], "2.13", "h200_sxm")


def test_autograd_fills_the_gradients_that_the_backward_graph_is_given() -> None:
    ones = Op(
        Signature("aten.ones_like.default", (ROWS,), (ROWS,), ("self",), {}), "", "backward", (1, 2)
    )
    origin = stepped(trace().ops[0], ones)
    forward = schedule(Origin("aten.exp.default", "a", "forward")).launches[0]
    backward = Launch(
        "pointwise", "triton_poi", "backward", (0,), ((2, 512), (3, 4), (1, 128)), ((4, 128),)
    )
    buffers = [
        Buffer(128, "input"),
        Buffer(128, "activation"),
        Buffer(512, "input"),
        Buffer(4, "input"),
        Buffer(128, "gradient"),
    ]
    known = [Origin("aten.exp.default", "a", "forward")]
    exact = exact_trace(Schedule([forward, backward], buffers, known, "2.13", "3.9"), origin)
    names = [op.name for op in exact.trace.ops]
    assert names == [
        "fused.pointwise.default",
        "aten.zeros.default",
        "aten.zeros.default",
        "fused.pointwise.default",
    ]
    # the smallest one is the loss's, which eager mode has too
    assert [op.signature.write_bytes for op in exact.trace.ops[1:3]] == [4, 512]
    assert [group.nodes[0].ops for group in exact.groups[1:3]] == [(1,), ()]


def test_casts_of_a_product_are_told_by_their_bytes_where_autocast_turns_them() -> None:
    def cast(columns: int) -> Op:
        shape = Tensor((4, columns), "float32", (columns, 1))
        return Op(
            Signature("aten._to_copy.default", (shape,), (shape,), ("self",), {}),
            "a",
            "forward",
            (0, 1),
        )

    product = Op(
        Signature("aten.mm.default", (ROWS, ROWS), (ROWS,), ("self", "mat2"), {}),
        "a",
        "forward",
        (0, 1, 2),
    )
    origin = stepped(cast(8), cast(16), product)  # the weight has 128 bytes, the input 256
    origins = [Origin("aten._to_copy.default", "a", "forward", n) for n in (0, 1)]
    launch = Launch("pointwise", "triton_poi", "forward", (0,), ((0, 256),), ((1, 128),))
    unordered = Schedule(
        [launch], [Buffer(256, "input"), Buffer(128, "activation")], origins, "2.13", "3.9"
    )
    assert eager_ops(unordered, origin) == [[1], [0]]


def test_arithmetic_of_a_loop() -> None:
    body = [("load", ""), ("exp", ""), ("add", ""), ("reduction", "sum"), ("store_reduction", "")]
    assert steps(body) == (3, 12)  # (FLOPs, slots): exp 1 and 9, add 1 and 1, sum 1 and 1, a load


def test_a_question_goes_through_a_pipe() -> None:
    question = Question("bert-base", H200, 8, 128, sizes=(("layers", 2),))
    assert decoded(encoded(question)) == question


def test_an_edited_step_is_refused_by_name() -> None:
    scenario = apply(Scenario("mlp-tiny", mode="compiled"), "remove", {"op": "relu"})
    edited = resolve(scenario)
    assert edited.edits
    with pytest.raises(RefusalError, match="a what-if changed the traced step"):
        question_of(edited)


def test_lines_of_the_users_own() -> None:
    trace = 'File "/site-packages/torch/x.py", line 3, in f\n  File "/home/nets.py", line 40, in g'
    assert line_of(trace) == "nets.py, line 40"
    assert reason(ValueError("no\nmore")) == "ValueError: no"


def test_an_error_that_is_its_own_cause_has_a_reason() -> None:
    error = type("BackendCompilerFailed", (Exception,), {})(
        "backend='backend' raised:\nKeyError: 'no'"
    )
    error.__cause__ = error
    assert reason(error) == "BackendCompilerFailed: KeyError: 'no'"
    error.__cause__ = KeyError("no")
    error.__cause__.__cause__ = error.__cause__
    assert reason(error) == "KeyError: 'no'"


def test_internals_that_are_not_there_are_of_another_version() -> None:
    code = compile("import math\nmath.nowhere", "/x/simulator/inductor/capture.py", "exec")
    with pytest.raises(AttributeError) as raised:
        exec(code)
    text = reason(raised.value)
    assert text.startswith(f"torch {version('torch')} with triton ")
    assert text.endswith(
        "has no attribute 'nowhere'; install torch 2.11 to 2.13 with the matching triton"
    )
