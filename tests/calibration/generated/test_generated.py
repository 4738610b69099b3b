"""Generated kernels: the timed part, the average over rounds, and the signature of a fused
kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from calibration.fit.compiled_host import COSTS, fit
from calibration.generated.bench import configurations
from calibration.generated.compiled import MOST_SHAPES, compiled
from calibration.generated.kernels import averaged, matched, otherwise, traced
from calibration.measure.log import read
from calibration.measure.run import load
from calibration.record.library_samples import l2_share, lowered
from calibration.record.read import MEASUREMENTS
from calibration.sweeps.registry import OPERATIONS, Point
from simulator.fusion import fused
from simulator.hardware.gpu import gpu

CARD = gpu("h200")
load("generated", print)


def call(name: str, **params: object) -> tuple[Point, list[object]]:
    point = Point(name, dict(params))
    return point, fused(traced(point), CARD).trace.ops


def test_every_measured_function_is_still_registered() -> None:
    named = {p.name for o in OPERATIONS.values() if o.kind == "generated" for p in o.points}
    chains = {name for name in named if name.startswith("generated_function_chain")}
    for number, expected in ((1, named - chains), (2, named - chains), (3, chains)):
        path = MEASUREMENTS / CARD.id / f"generated_{number}.jsonl.gz"
        measured = read(path)
        assert not measured.failed
        assert set(measured.samples) == expected
    assert (len(named), len(chains)) == (824 + 54, 54)


def test_generated_kernels_are_measured_only_when_asked_for() -> None:
    kinds = {operation.kind for operation in load(None, print)}
    assert "generated" not in kinds
    assert {operation.kind for operation in load("generated", print)} == {"generated"}


def test_work_of_a_pointwise_kernel() -> None:
    _, (op,) = call("generated_bias_gelu", dtype="bf16", rows=8, cols=1024)
    args = op.signature.args
    # 1 instruction for add and 37 for gelu, two loads and a store, for 8·1024 elements
    assert args["instructions"] == (1 + 37 + 3) * 8 * 1024
    assert (args["elements"], args["operands"], args["rows"]) == (8192, 3, 0)
    # 2 bytes · (8·1024 of the input, 1024 of the bias, 8·1024 of the output)
    assert sum(t.nbytes for t in (*op.inputs, *op.outputs)) == 2 * (8192 + 1024 + 8192)


def test_work_of_a_row_in_registers_and_of_one_walked_along() -> None:
    for cols, slots, scaled in ((512, 20, 1), (8192, 50, 2)):
        _, (op,) = call("generated_softmax", dtype="bf16", rows=4096, cols=cols)
        # scaled in the loop before the sum, and again in a loop after it; a load and a store
        assert op.signature.args["instructions"] == (scaled + slots + 2) * 4096 * cols
        assert (op.signature.args["rows"], op.signature.args["cols"]) == (4096, cols)


def test_every_other_column_moves_all_sectors() -> None:
    _, (op,) = call("generated_strided", dtype="fp32", rows=64, cols=64)
    # 64·64 numbers of 4 bytes, and the same number for the other operand
    assert op.inputs[0].nbytes == 64 * 64 * 8
    assert op.outputs[0].nbytes == 64 * 64 * 4


def test_a_result_that_is_also_read_on_the_way_is_stored() -> None:
    _, (op,) = call("generated_adam", dtype="fp32", size=768)
    # reads four tensors; writes weights and two moments
    assert (len(op.inputs), len(op.outputs)) == (4, 3)


def test_the_backward_pass_is_a_separate_kernel() -> None:
    _, ops = call("generated_train_softmax", dtype="bf16", heads=12, queries=64)
    assert [op.phase for op in ops] == ["forward", "backward"]


def test_rounds_are_averaged_where_they_launched_the_same() -> None:
    rounds = [
        [("triton_poi_0", 2.0, 4.0)],
        [("triton_poi_0", 8.0, None)],
        [("triton_other_0", 1.0, 1.0)],
        [("triton_poi_0", 4.0, 4.0)],
    ]
    # ∛(2·8·4) = 4, and ∛(4·8·4) = 128^⅓
    assert averaged(rounds) == [("triton_poi_0", pytest.approx(4.0), pytest.approx(128 ** (1 / 3)))]
    assert averaged([]) == []


def test_kernels_that_differ_in_number_are_left_out() -> None:
    point = Point("generated_add", {"dtype": "fp32", "size": 4096})
    trace = fused(traced(point), CARD).trace
    one = {"kernels": [("triton_poi_fused_add_0", 1e-6, 2e-6)]}
    (kernel,) = matched(lowered(point, trace, one, CARD))
    assert (kernel.warm, kernel.cold[1]) == ((1.0, 1e-6), 2e-6)
    assert kernel.work.family == "generated"
    two = {"kernels": one["kernels"] * 2}
    assert matched(lowered(point, trace, two, CARD)) == []


def test_functions_with_other_traffic_than_the_rules_are_left_out() -> None:
    point = Point("generated_add", {"dtype": "fp32", "size": 2**26})
    trace = fused(traced(point), CARD).trace  # 3 · 256 MiB: 168 µs at 4.8 TB/s
    for seconds, out in ((185e-6, False), (160e-6, True)):
        one = {"kernels": [("triton_poi_fused_add_0", seconds, seconds)]}
        kernels = otherwise(matched(lowered(point, trace, one, CARD)), CARD)
        assert ("generated_add" in kernels) == out


def test_l2_keeps_less_and_less_of_what_is_larger() -> None:
    assert [l2_share(share) for share in (0.5, 0.8, 1.05, 1.3, 2.0)] == pytest.approx(
        [1, 1, 0.5, 0, 0]
    )


def test_how_a_kernel_was_configured() -> None:
    config = SimpleNamespace(kwargs={"XBLOCK": 1024}, num_warps=4, num_stages=1)
    launcher = SimpleNamespace(config=config, n_regs=32, n_spills=0, shared=0)
    module = SimpleNamespace(triton_poi_0=SimpleNamespace(launchers=[launcher]), other=3)
    assert configurations(module) == [  # pyright: ignore[reportArgumentType]
        {
            "kernel": "triton_poi_0",
            "tile": {"XBLOCK": 1024},
            "warps": 4,
            "stages": 1,
            "registers": 32,
            "spilled": 0,
            "shared_bytes": 0,
        }
    ]


def test_host_constants_come_back_from_steps_made_of_them() -> None:
    random = np.random.default_rng(0)
    counts = random.integers(0, 50, (30, len(COSTS))).astype(float)
    costs = np.array([3e-5, 8e-7, 6e-7, 1e-3, 9e-6, 7e-6, 5e-6, 8e-6, 1.2e-5, 9e-6, 1.3e-5, 7e-6])
    rest = random.uniform(0, 1e-4, 30)
    seconds = counts @ costs + rest
    assert fit(counts, rest, seconds, np.ones(30)) == pytest.approx(costs, rel=1e-2)
    # a loop with weight 0 may take any time
    weights, wrong = np.ones(30), seconds.copy()
    weights[:10], wrong[:10] = 1e-6, 2 * seconds[:10]
    assert fit(counts, rest, wrong, weights) == pytest.approx(costs, rel=1e-2)


def test_the_limit_of_compiled_versions_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit applies only while a function runs, because that is when it is compiled."""
    import torch._dynamo.config as dynamo

    seen: list[int] = []

    def eager(function: Callable[..., object], dynamic: bool) -> Callable[..., object]:
        def run(*operands: object) -> object:
            seen.append(dynamo.recompile_limit)
            return function(*operands)

        return run

    monkeypatch.setattr(torch, "compile", eager)
    before = dynamo.recompile_limit, dynamo.accumulated_recompile_limit
    call = compiled(lambda x: x + 1, [torch.ones(2)])
    assert torch.equal(call(), torch.full((2,), 2.0))  # pyright: ignore[reportArgumentType]
    assert seen == [MOST_SHAPES] and before[0] < MOST_SHAPES
    assert (dynamo.recompile_limit, dynamo.accumulated_recompile_limit) == before

    def fails(x: object) -> object:
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        compiled(fails, [torch.ones(2)])()
    assert (dynamo.recompile_limit, dynamo.accumulated_recompile_limit) == before
