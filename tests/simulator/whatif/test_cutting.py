"""+recompute=mincut: its refusals, its trade-off, and that it can be undone."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from simulator.analysis.trade import trade
from simulator.errors import InputError
from simulator.scenario.scenario import Applied, Scenario, predict
from simulator.schedule.memory import carried_bytes
from simulator.whatif import apply, parse, to_text
from simulator.whatif.edits.cutting import Cut
from tests.simulator.whatif.conftest import small_scenario

LLAMA = small_scenario("llama3-1b", seq=64, training=True, optimizer="none", dtype="bf16")
GPT2 = small_scenario("gpt2", seq=64, training=True, optimizer="none")


def cut(scenario: Scenario, **more: Any) -> Scenario:
    return apply(scenario, "recompute", {"modules": "mincut"} | more)


def test_silu_runs_again_and_its_result_is_not_carried():
    before, after = predict(LLAMA), predict(cut(LLAMA))
    # stored per gate: 2 layers of 4·64 tokens, hidden size 192, bf16: 2·256·192·2 = 196,608; of the
    # rotary angles and their cos and sin in fp32 and bf16, only the angles are stored
    count = [p.trace.names().count("aten.silu.default") for p in (before, after)]
    assert count == [2, 4]
    assert carried_bytes(before.trace) - carried_bytes(after.trace) >= 196_608
    traded = trade(before, after)
    assert traded is not None and traded.flops == after.flops - before.flops > 0
    assert traded.carried_bytes == (carried_bytes(before.trace), carried_bytes(after.trace))
    assert traded.flops_per_byte == traded.flops / (
        traded.carried_bytes[0] - traded.carried_bytes[1]
    )
    assert traded.peak_bytes[1] <= traded.peak_bytes[0]
    assert trade(after, before) is None and trade(before, before) is None


def test_a_budget_trades_more():
    plain, half, none = (predict(s) for s in (GPT2, cut(GPT2, budget=0.5), cut(GPT2, budget=0.0)))
    trades = trade(plain, half), trade(plain, none)
    assert trades[0] and trades[1] and 0 < trades[0].flops < trades[1].flops
    assert trades[0].carried_bytes[1] > trades[1].carried_bytes[1]
    blocks = trade(plain, predict(apply(GPT2, "recompute")))
    assert blocks is not None and blocks.carried_bytes[0] == trades[0].carried_bytes[0]


def test_it_is_undone_by_dropping_it_and_written_as_it_is_read():
    changed = cut(LLAMA)
    assert changed.whatifs and dataclasses.replace(changed, whatifs=()) == LLAMA
    assert predict(LLAMA).trace is predict(LLAMA).trace
    assert cut(changed) == changed
    for text in ("+recompute=mincut", "+recompute=mincut,budget=0.5"):
        name, arguments = parse(text)
        assert to_text(Applied(name, arguments)) == text


def test_it_goes_with_a_graph_and_with_accumulation():
    once, twice = (predict(apply(s, "accumulate", {"steps": 2})) for s in (LLAMA, cut(LLAMA)))
    names = [p.trace.names().count("aten.silu.default") for p in (once, twice)]
    assert names == [4, 8]
    compiled = apply(LLAMA, "mode", {"to": "compiled"})
    half = trade(predict(compiled), predict(cut(compiled, budget=0.5)))
    assert half is not None and half.flops > 0
    graph = predict(apply(cut(LLAMA), "cuda_graph"))
    assert graph.kernel_count == predict(cut(LLAMA)).kernel_count


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda: cut(small_scenario("gpt2")),
         "recompute: the step is inference: expected training; predict training"),
        (lambda: predict(cut(GPT2)),
         "recompute=mincut: no op would run again: torch's rules store all tensors that the "
         "backward pass reads (outputs of products, norms and random ops, operands of products): "
         "expected a budget below 1; try recompute=mincut,budget=0.5, or recompute by block"),
        (lambda: apply(GPT2, "recompute", {"budget": 0.5}),
         "recompute: budget is 0.5 with modules '**.#': expected modules=mincut, the only one "
         "with a budget; leave one out"),
        (lambda: cut(GPT2, budget=2),
         "recompute: budget is 2: expected 0 to 1; correct it"),
        (lambda: cut(apply(GPT2, "recompute")),
         "recompute: other modules are already recomputed: expected one pattern; undo the "
         "earlier one first"),
        (lambda: apply(cut(LLAMA), "mode", {"to": "compiled"}),
         "recompute=mincut: torch.compile already makes this cut: expected a step that is not "
         "compiled, or a budget below 1 (torch's activation_memory_budget); leave out recompute or "
         "the compiled mode, or add budget=0.5"),
        (lambda: cut(apply(apply(LLAMA, "mode", {"to": "compiled"}), "cuda_graph")),
         "recompute=mincut: torch.compile already makes this cut: expected a step that is not "
         "compiled, or a budget below 1 (torch's activation_memory_budget); leave out recompute or "
         "the compiled mode, or add budget=0.5"),
        (lambda: cut(apply(apply(LLAMA, "mode", {"to": "max-autotune"}), "cuda_graph")),
         "recompute=mincut: torch.compile already makes this cut: expected a step that is not "
         "compiled, or a budget below 1 (torch's activation_memory_budget); leave out recompute or "
         "the compiled mode, or add budget=0.5"),
        (lambda: cut(cut(GPT2), budget=0.5),
         "recompute: other modules are already recomputed: expected one pattern; undo the "
         "earlier one first"),
    ],
)  # fmt: skip
def test_impossible_what_ifs_are_refused_with_the_reason(ask: Any, text: str):
    with pytest.raises(InputError) as caught:
        ask()
    assert str(caught.value) == text


def test_a_trace_without_what_it_needs_is_refused():
    traced = predict(LLAMA).trace
    with pytest.raises(
        InputError, match="recompute=mincut: there is no backward pass: expected training"
    ):
        Cut()(predict(small_scenario("llama3-1b", seq=64)).trace)
    bare = replace(traced, ops=[replace(op, storages=()) for op in traced.ops])
    with pytest.raises(InputError, match="the trace does not record which memory its ops read and"):
        Cut()(bare)
