"""Graph breaks of a compiled step: their places, the remaining graphs, and their cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn

from simulator import predict_trace, trace
from simulator.analysis.fusion_report import explain
from simulator.fusion import fused
from simulator.fusion.graphs import Graphs
from simulator.fusion.host.host_costs import RECORDED
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.hardware.host_counts import tail_s
from simulator.prediction import Prediction
from simulator.records import Break, Trace
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply
from tests.simulator.fusion import breaking

H200 = gpu("h200")
VALUE = "Python needs the value of a tensor"
CASES: dict[type[breaking.Two], tuple[int, str]] = {
    breaking.Prints: (34, "print cannot be traced"),
    breaking.Logs: (41, "logging's info cannot be traced"),
    breaking.Item: (48, VALUE),
    breaking.Branches: (55, VALUE),
    breaking.Masks: (63, "the size of the result of index depends on data"),
    breaking.Says: (85, "print cannot be traced"),
    breaking.Disabled: (105, "a function under torch.compiler.disable"),
    breaking.InC: (111, "zlib.crc32 is written in C"),
}


def step(module: nn.Module, phase: str = "inference") -> Trace:
    return trace(module, module.example_inputs(8, 0), phase=phase)  # pyright: ignore


def compiled(module: nn.Module, phase: str = "inference") -> Prediction:
    return predict_trace(step(module, phase), mode="compiled")


def launches(p: Prediction) -> list[str]:
    """Names of the launches, one word for each part of the step."""
    breaks = Graphs(p.trace)
    words: list[list[str]] = []
    last = None
    for index, op in enumerate(p.trace.ops):
        if op.phase != "optimizer":
            if breaks.of[index] != last:
                words.append([])
            last = breaks.of[index]
            words[-1].append(op.name.split(".")[0 if op.name.startswith("fused") else 1])
    return [" ".join(word) for word in words]


@pytest.mark.parametrize("module", CASES)
def test_each_break_is_named_with_its_line(module: type[breaking.Two]) -> None:
    line, reason = CASES[module]
    note = f"torch.compile breaks its graph at breaking.py, line {line}: {reason}"
    assert compiled(module()).notes[-2] == note


def test_remaining_graphs_are_reported() -> None:
    assert compiled(breaking.Disabled()).notes[-1] == (
        "the step runs as 2 graphs, with no kernel across graphs, and 1 op (sin) between them "
        "in eager mode"
    )
    assert compiled(breaking.Prints()).notes[-1] == (
        "the step runs as 2 graphs, with no kernel across graphs, and 0 ops between them in "
        "eager mode"
    )


def test_a_custom_function_is_traced() -> None:
    assert step(breaking.Doubles()).breaks == []


def test_no_kernel_does_the_work_of_two_graphs() -> None:
    """With the cuts of Dynamo (torch 2.13), the ops after a product are one loop in each graph."""
    assert launches(compiled(breaking.Doubles())) == ["mm fused mm fused"]
    assert launches(compiled(breaking.Says())) == ["mm fused", "fused", "mm fused"]
    assert launches(compiled(breaking.Disabled())) == ["mm fused", "sin", "mm fused"]
    assert launches(compiled(breaking.Item())) == ["mm fused", "_local_scalar_dense", "mm fused"]


def test_a_function_with_a_break_in_a_loop_is_not_compiled() -> None:
    block = ["mm fused", "_local_scalar_dense", "mm fused"]
    p = compiled(breaking.Looped())
    assert launches(p) == ["t addmm relu", *block, *block, "mul relu"]
    left = {
        (o.op, o.count) for o in explain(p).unfused if o.reason == "it runs where the graph breaks"
    }
    assert left == {("addmm", 1), ("relu", 2), ("mul", 1), ("_local_scalar_dense", 2)}


@pytest.fixture
def default_limit() -> Iterator[None]:
    """Compiling a sweep raises the limit for its whole process."""
    with torch._dynamo.config.patch(recompile_limit=8):  # pyright: ignore
        yield


@pytest.mark.usefixtures("default_limit")
@pytest.mark.parametrize(("numbered", "compiled_calls"), [(False, 12), (True, 8)])
def test_a_function_is_compiled_for_eight_variants(numbered: bool, compiled_calls: int) -> None:
    """Dynamo guards a graph by the integers of its module (`recompile_limit` is 8)."""
    p = compiled(breaking.InTurn(numbered))
    eager = ["t addmm relu add"] * (12 - compiled_calls)
    assert launches(p) == ["mm fused"] * compiled_calls + eager
    assert any("line 148 (4 times): already compiled for" in n for n in p.notes) is numbered


@pytest.mark.usefixtures("default_limit")
def test_dynamo_compiles_as_many_variants() -> None:
    compiled_graphs: list[object] = []

    def noted(graph: torch.fx.GraphModule, inputs: object) -> object:
        compiled_graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()  # pyright: ignore[reportAttributeAccessIssue]
    module = breaking.InTurn(numbered=True)
    with torch.no_grad():
        torch.compile(module, backend=noted)(*module.example_inputs(8, 0))  # pyright: ignore
    torch._dynamo.reset()  # pyright: ignore[reportAttributeAccessIssue]
    assert len(compiled_graphs) == 8


def test_every_function_on_the_way_to_a_break_is_cut() -> None:
    block = ["mm fused", "_local_scalar_dense", "mm fused"]
    assert launches(compiled(breaking.Unrolled())) == ["mm fused", *block, *block, "fused"]


def test_the_backward_pass_is_cut_as_well() -> None:
    breaks = Graphs(step(breaking.Item(), "training"))
    parts = {part for part in breaks.of if part[0] != "optimizer"}
    assert sorted(parts) == [
        ("backward", 2),
        ("backward", 4),
        ("forward", 0),
        ("forward", 1),
        ("forward", 2),
    ]


def test_a_second_graph_costs_the_host_a_call_and_the_passed_tensor() -> None:
    """The same ops in one graph, and in two graphs with one tensor passed between them."""
    broken = step(breaking.Prints())
    whole = step(breaking.Two())
    assert broken.names() == whole.names() and len(broken.breaks) == 1
    one, two = (predict_trace(each, mode="compiled") for each in (whole, broken))
    speed = host().seconds["op"] / RECORDED.reference_op_s
    python_s = tail_s(broken, host()) - tail_s(whole, host())
    added_s = two.host_s - one.host_s - python_s
    assert added_s == pytest.approx((4.21e-5 + 1.6e-6 + RECORDED.resumed_s) * speed)


def test_breaks_move_with_their_ops() -> None:
    place = [0, 0, 3, 4, 8]  # of ops 0 to 4; 9 is the end
    assert Break(2, 4, "a", "b", 5, 5).moved(place) == Break(3, 8, "a", "b", 9, 9)


def test_fused_breaks_lie_between_the_same_ops() -> None:
    origin = step(breaking.Unrolled(), "training")
    compiled_step = fused(origin, H200)
    before, after = Graphs(origin), Graphs(compiled_step.trace)
    assert len({part for part in after.of if part[0] != "optimizer"}) == 14  # 8 forward, 6 back
    for number, group in enumerate(compiled_step.groups):
        was = before.of[group.nodes[0].ops[-1]]
        again = (after.of[number][0], was[0]) == ("backward", "forward")  # computed again
        assert again or after.of[number] == was
    assert np.isfinite(compiled(breaking.Unrolled(), "training").period_s)


def test_graph_breaks_do_not_prevent_fusion_by_hand() -> None:
    """Ops that run eagerly in the compiled step can still be fused by hand in eager mode."""
    # mul and relu are fused: one kernel fewer than in eager mode
    last = len(step(breaking.Looped()).ops) - 1
    place = f"{breaking.__file__}:Looped"
    eager = predict(Scenario(place, batch=8))
    fused_by_hand = predict(apply(Scenario(place, batch=8), "fuse", {"ops": f"{last - 1}+{last}"}))
    assert fused_by_hand.kernel_count == eager.kernel_count - 1


def test_no_break_is_beyond_the_step() -> None:
    for module in CASES:
        own = step(module(), "training")
        assert all(0 <= b.op <= b.until <= len(own.ops) for b in own.breaks)
        assert all(b.back <= b.back_until <= len(own.ops) for b in own.breaks)


def test_a_break_of_an_inference_step_has_no_place_in_a_backward_pass() -> None:
    """Its places in the backward pass are 0, so that the forward pass has three stretches."""
    compiled_step = compiled(breaking.Item()).trace
    assert [(b.op, b.until, b.back, b.back_until) for b in compiled_step.breaks] == [(2, 3, 0, 0)]
    assert Graphs(compiled_step).of == [("forward", number) for number in (0, 0, 1, 2, 2)]


def test_a_function_that_is_allowed_in_the_graph_does_not_break_it() -> None:
    """It calls the same C function as `InC`. `torch._dynamo.explain` counts no break either."""
    assert not step(breaking.Allowed()).breaks
    assert len(step(breaking.InC()).breaks) == 1
