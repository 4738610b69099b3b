"""A schedule as a trace: no compiler runs here."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from simulator.hardware import gpu
from simulator.inductor.exact import question_of
from simulator.inductor.exact_trace import eager_ops, exact_trace
from simulator.inductor.graph_breaks import line_of, reason
from simulator.inductor.loop_ops import steps
from simulator.inductor.question import Question, decoded, encoded
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Buffer, Launch, Origin, Schedule
from simulator.records import Op, Signature, Storage, Tensor, Trace
from simulator.scenario import Scenario
from simulator.whatif import apply
from simulator.whatif.setting import setting

H200 = gpu("h200")
ROWS = Tensor((4, 8), "float32", (8, 1))  # 128 bytes


def trace() -> Trace:
    names = ("aten.exp.default", "aten.add.Tensor", "aten.add.Tensor")
    ops = [
        Op(Signature(name, (ROWS,), (ROWS,), ("self",), {}), "a", "forward", (i, i + 1))
        for i, name in enumerate(names)
    ]
    storages = [
        Storage(128, -1, None, "input"), Storage(128, 0, 2, "activation"),
        Storage(128, 1, 3, "activation"), Storage(128, 2, None, "activation"),
    ]  # fmt: skip
    return Trace(ops, storages, "inference", None, 4, None, 0, 0, [], "2.13", "h200_sxm")


def schedule(*origins: Origin) -> Schedule:
    launch = Launch("pointwise", "triton_poi", "forward", tuple(range(len(origins))),
                    ((0, 128),), ((1, 128),), flops=96)  # fmt: skip
    buffers = [Buffer(128, "input"), Buffer(128, "activation")]
    return Schedule([launch], buffers, list(origins), "2.13", "3.9")


def test_ops_are_told_by_name_and_number_within_their_module() -> None:
    found = schedule(Origin("aten.add.Tensor", "a", "forward", 1),
                     Origin("aten.exp.default", "a", "forward"))  # fmt: skip
    assert eager_ops(found, trace()) == [[2], [0]]


def test_what_only_the_compiler_takes_apart_is_the_rest_of_its_module() -> None:
    found = schedule(Origin("aten.exp.default", "a", "forward"),
                     Origin("aten.rsqrt.default", "a", "forward"))  # fmt: skip
    assert eager_ops(found, trace()) == [[0], [1, 2]]


def test_a_launch_is_an_op_of_its_own_bytes() -> None:
    found = exact_trace(schedule(Origin("aten.exp.default", "a", "forward")), trace())
    (op,) = found.trace.ops
    assert op.name == "fused.pointwise.default" and op.signature.args["ops"] == "exp"
    assert (op.signature.read_bytes, op.signature.write_bytes) == (128, 128)
    assert op.storages == (0, 4)  # the eager trace's own input, and one more
    assert found.trace.storages[1].nbytes == 0  # what was fused away
    assert found.trace.kept["fusion"] is found and "triton 3.9" in found.notes[0]


def test_what_a_schedule_says_of_itself_is_a_note() -> None:
    told = "scheduled with 4 and with 5 of the 12 equal blocks of layers"
    found = replace(schedule(Origin("aten.exp.default", "a", "forward")), notes=(told,))
    assert exact_trace(found, trace()).notes[1:] == (told,)


def test_arithmetic_of_a_loop() -> None:
    body = [("load", ""), ("exp", ""), ("add", ""), ("reduction", "sum"), ("store_reduction", "")]
    assert steps(body) == (3, 11)  # exp 1 and 8, add 1 and 1, sum 1 and 1, a load


def test_a_question_goes_through_a_pipe() -> None:
    asked = Question("bert-base", H200, 8, 128, sizes=(("layers", 2),))
    assert decoded(encoded(asked)) == asked


def test_an_edited_step_is_refused_by_name() -> None:
    asked = apply(Scenario("mlp-tiny", mode="compiled"), "remove", {"op": "relu"})
    edited = setting(asked)
    assert edited.edits
    with pytest.raises(RefusalError, match="a what-if changed the traced step"):
        question_of(edited)


def test_lines_of_the_users_own() -> None:
    trace = 'File "/site-packages/torch/x.py", line 3, in f\n  File "/home/nets.py", line 40, in g'
    assert line_of(trace) == "nets.py, line 40"
    assert reason(ValueError("no\nmore")) == "ValueError: no"
