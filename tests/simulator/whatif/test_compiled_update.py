"""The optimizer compiled by itself: Inductor's grouping, bytes and arithmetic."""

from __future__ import annotations

import pytest

from simulator import predict_trace
from simulator.errors import InputError
from simulator.records import Op, Trace
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, predict
from simulator.scenario.trace_source import trace_resolved
from simulator.whatif import apply
from simulator.whatif.edits.compiled_update import CompiledUpdate

MLP = Scenario("mlp-tiny", training=True)  # 9 layers with a weight and a bias


def step(optimizer: str, depth: int = 8, dtype: str = "fp32") -> Trace:
    sizes = {"width": 128, "depth": depth}
    scenario = Scenario("mlp-tiny", training=True, optimizer=optimizer, sizes=sizes, dtype=dtype)
    return trace_resolved(resolve(scenario))


def updates(trace: Trace) -> list[Op]:
    return [op for op in trace.ops if op.phase == "optimizer"]


@pytest.mark.parametrize(
    ("optimizer", "depth", "loops"),
    [
        # As Inductor 2.13 does for 100 weights of AdamW: 13 buffers per weight, so 250 // 13 = 19
        # weights per kernel; 3 buffers per counter, so 83 counters per kernel. SGD: 8 buffers per
        # weight, so 31 weights per kernel
        ("adamw", 49, [83, 17, 19, 19, 19, 19, 19, 5]),
        ("adamw", 8, [18, 18]),
        ("sgd", 49, [31, 31, 31, 7]),
    ],
)
def test_kernels_take_as_many_weights_as_inductors(optimizer: str, depth: int, loops: list[int]):
    kernels = updates(CompiledUpdate()(step(optimizer, depth)))
    assert [int(str(op.signature.arg("ops")).split()[-1]) for op in kernels] == loops


def test_adamw_reads_weight_gradient_two_states_and_a_counter():
    before = step("adamw")
    counters, main = updates(CompiledUpdate()(before))
    # 8·(128·128 + 128) + 10·128 + 10 = 133,386 parameters
    assert before.parameters == 133_386
    assert counters.signature.read_bytes == counters.signature.write_bytes == 18 * 4
    assert main.signature.read_bytes == 4 * 4 * 133_386 + 18 * 4
    assert main.signature.write_bytes == 3 * 4 * 133_386
    assert main.signature.arg("elements") == 133_386


def test_sgd_reads_weight_gradient_and_momentum_in_halves_too():
    before = step("sgd", dtype="bf16")
    (main,) = updates(CompiledUpdate()(before))
    assert main.signature.read_bytes == 3 * 2 * before.parameters
    assert main.signature.write_bytes == 2 * 2 * before.parameters


def test_it_does_the_eager_arithmetic():
    before = step("sgd")
    (main,) = updates(CompiledUpdate()(before))
    # per parameter: momentum · 0.9, + gradient, and weight − lr · momentum: 1 + 1 + 2 FLOPs
    assert main.signature.arg("flops") == 4 * before.parameters


@pytest.mark.parametrize("mode", ["eager", "compiled", "reduce-overhead"])
def test_a_step_gets_shorter_and_its_kernels_fewer(mode: str):
    changed = apply(MLP, "mode", {"to": mode})
    before, after = predict(changed), predict(apply(changed, "compiled_optimizer"))
    assert after.kernel_count == before.kernel_count - 8 + 2
    assert after.period_s < before.period_s
    assert after.gpu_busy_s < before.gpu_busy_s
    assert any(note.startswith("the optimizer is compiled by rules") for note in after.notes)
    assert not any("stays eager" in note for note in after.notes)


def test_square_roots_stay_in_registers():
    before = step("adamw")
    after = CompiledUpdate()(before)
    grown = predict_trace(after).peak_memory_bytes - predict_trace(before).peak_memory_bytes
    assert grown <= 18 * 512  # one block for each counter, which was on the CPU before


def test_compiling_the_update_twice_equals_once():
    once = CompiledUpdate()(step("adamw"))
    assert CompiledUpdate()(once) is once
    assert apply(apply(MLP, "compiled_optimizer"), "compiled_optimizer").whatifs == (
        apply(MLP, "compiled_optimizer").whatifs
    )


def test_optimizers_without_lists_are_refused():
    with pytest.raises(InputError, match="expected training; predict training"):
        apply(Scenario("mlp-tiny"), "compiled_optimizer")
    fused = apply(apply(MLP, "optimizer", {"to": "adamw_fused"}), "compiled_optimizer")
    with pytest.raises(InputError, match="nothing to fuse in optimizer adamw_fused: expected adam"):
        predict(fused)
