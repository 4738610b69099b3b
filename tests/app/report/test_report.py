"""The text of a report: sums over kernels against hand-computed sums."""

import re
from dataclasses import replace

import pytest

from app.answers.figures import (
    causes,
    gpu_name,
    memory_parts,
    notes,
    title,
    totals,
    unmodelled,
    verdict,
)
from app.answers.groups import kernel_groups, module_groups, short_dtype
from app.answers.subject import NO_EXACT_ANSWER, Scenario, Subject, predict, subject
from simulator.prediction import Prediction
from simulator.whatif import apply


def test_the_verdict_in_one_sentence(tiny_prediction: Prediction, tiny: Subject) -> None:
    assert re.fullmatch(
        r"mlp-tiny, batch 32, fp32, inference on NVIDIA H200 SXM 141GB: [\d.,]+ µs a step "
        r"\(80%: [\d.,]+ to [\d.,]+\), overhead-bound \(<?\d+% compute, <?\d+% memory, "
        r"\d+% overhead\)",
        verdict(tiny_prediction, tiny),
    )


def test_the_title_names_phase_and_mode(tiny_prediction: Prediction, tiny: Subject) -> None:
    graph = predict(Scenario("mlp-tiny", mode="cuda_graph"), tiny)
    assert title(graph, replace(tiny, seq=8)) == (
        "mlp-tiny, batch 32 × 8, fp32, inference, cuda graph on NVIDIA H200 SXM 141GB"
    )
    training = subject(Scenario("mlp-tiny", training=True, optimizer="sgd", dtype="autocast"))
    assert title(replace(tiny_prediction, trace=training.trace), training) == (
        "mlp-tiny, batch 32, autocast, training (sgd) on NVIDIA H200 SXM 141GB"
    )


def test_a_vendor_is_named_once(tiny_prediction: Prediction, tiny: Subject) -> None:
    gaudi = predict(Scenario("mlp-tiny", gpu="gaudi3"), tiny)
    assert gpu_name(gaudi) == "Intel Gaudi 3 OAM"


def test_totals(tiny_prediction: Prediction, tiny: Subject) -> None:
    p, t = tiny_prediction, totals(tiny_prediction, tiny)
    # 8 layers of 128 × 128 and a head of 128 × 10, for 32 samples
    assert t.product_flops == 2 * 32 * 128 * (8 * 128 + 10)
    assert t.engine == "fp32 on vector units"
    assert t.peak_flops_per_s == pytest.approx(66.9e12)
    assert t.utilisation == pytest.approx(t.product_flops / 66.9e12 / p.period_s)
    assert t.samples_per_s == pytest.approx(32 / p.period_s)
    assert t.tokens_per_s is None


def test_groups_of_kernels_hold_every_kernel(tiny_prediction: Prediction) -> None:
    p, groups = tiny_prediction, kernel_groups(tiny_prediction)
    assert sum(g.count for g in groups) == p.kernel_count
    assert sum(g.total_s for g in groups) == pytest.approx(p.gpu_busy_s)
    assert sum(g.share for g in groups) == pytest.approx(1)
    assert [g.total_s for g in groups] == sorted((g.total_s for g in groups), reverse=True)
    products = {(g.op, g.shape): g.count for g in groups if g.family == "gemm"}
    assert products == {("addmm", "32×128×128"): 8, ("addmm", "32×10×128"): 1}
    assert all(sum(g.shares.values()) == pytest.approx(1) for g in groups)


def test_modules_sum_over_their_contents() -> None:
    small = Scenario(
        "bert-base",
        batch=1,
        seq=16,
        training=True,
        sizes={"layers": 2, "width": 64, "heads": 2, "hidden": 128},
    )
    p = predict(small, subject(small))
    groups = module_groups(p)
    assert sum(g.total_s for g in groups if g.depth == 0) == pytest.approx(p.gpu_busy_s)
    paths = [(g.depth, g.path) for g in groups]
    assert (0, "layers.*") in paths and (0, "(optimizer)") in paths
    layers = groups[paths.index((0, "layers.*"))]
    assert layers.count == 2
    assert layers.kernels == sum(k.module.startswith("layers.") for k in p.kernels)
    after = paths[paths.index((0, "layers.*")) + 1]
    assert after[0] == 1  # the children of the row follow it
    query = groups[paths.index((2, "query"))]
    assert query.kernels == sum(k.module.endswith("attention.query") for k in p.kernels)


def test_idle_time_has_causes(tiny_prediction: Prediction) -> None:
    p = tiny_prediction
    table = dict(causes(p))
    assert list(table) == ["waiting for the host", "waiting for a sync", "between kernels"]
    assert sum(table.values()) == pytest.approx(p.period_s - p.gpu_busy_s, rel=1e-3)


def test_memory_by_role(tiny_prediction: Prediction) -> None:
    p = tiny_prediction
    parts = dict(memory_parts(p))
    assert sum(parts.values()) == p.peak_memory_bytes + p.workspace_bytes
    assert list(parts)[-1] == "workspace" and "weights" in parts


def test_unmodelled_ops_are_named(tiny_prediction: Prediction) -> None:
    ops = len(tiny_prediction.trace.ops)
    p = replace(tiny_prediction, unmodelled={"aten.rare.default": 1, "aten.odd.default": ops})
    assert unmodelled(p) == [
        f"aten.odd.default ×{ops} (100% of ops)",
        f"aten.rare.default ×1 ({100 / ops:.0f}% of ops)",
    ]


def test_a_trace_for_another_gpu_is_noted(tiny: Subject, tiny_prediction: Prediction) -> None:
    assert notes(tiny_prediction) == []
    p = predict(Scenario("mlp-tiny", gpu="l4"), tiny)
    assert notes(p)[-1] == (
        "traced for h200_sxm: on l4 PyTorch may choose other kernels; trace the network again "
        "for this GPU"
    )


def test_dtypes_are_shortened() -> None:
    names = ("float32", "float16", "bfloat16", "tf32", "int64", "float8_e4m3fn")
    assert [short_dtype(n) for n in names] == [
        "fp32",
        "fp16",
        "bf16",
        "tf32",
        "int64",
        "fp8_e4m3fn",
    ]


def test_an_unmodelled_op_is_named_in_the_verdict(
    tiny_prediction: Prediction, tiny: Subject
) -> None:
    ops = len(tiny_prediction.trace.ops)
    one = replace(tiny_prediction, unmodelled={"aten.odd.default": 1})
    assert verdict(one, tiny).endswith(
        f"; 1 of {ops} ops is not modelled (aten.odd.default): the step may take longer"
    )
    two = replace(tiny_prediction, unmodelled={"aten.odd.default": 1, "aten.rare.default": 3})
    assert f"; 4 of {ops} ops are not modelled (aten.rare.default and 1 more)" in verdict(two, tiny)


def test_accumulated_batches_count() -> None:
    scenario = apply(Scenario("mlp-tiny", training=True), "accumulate", {"steps": 4})
    traced = subject(scenario)
    p = predict(scenario, traced)
    assert (traced.batch, traced.forwards) == (32, 4)
    assert totals(p, traced).samples_per_s == pytest.approx(4 * 32 / p.period_s)


def test_a_generated_kernel_shows_its_written_bytes() -> None:
    scenario = Scenario("mlp-tiny", mode="compiled")
    p = predict(scenario, subject(scenario))
    shapes = {g.op: g.shape for g in kernel_groups(p)}
    assert shapes["fused.pointwise"] == "writes 16.0 KiB"  # 32·128·4 bytes


def test_a_grouped_product_shows_all_rows_and_its_groups() -> None:
    sizes = dict(
        width=256, layers=1, heads=4, kv_heads=2, d=64, hidden=128, experts=8, top=2, vocab=512
    )
    scenario = Scenario("qwen3-30b-decode", batch=4, seq=64, dtype="bf16", sizes=sizes)
    p = predict(scenario, subject(scenario))
    shapes = [g.shape for g in kernel_groups(p) if g.op == "_grouped_mm" and g.family == "gemm"]
    assert sorted(shapes) == ["8×256×128 in 8", "8×256×256 in 8"]


def test_products_without_a_tensor_core_say_where_they_run() -> None:
    scenario = Scenario("mlp-tiny", dtype="bf16", gpu="t4")
    assert (
        totals(predict(scenario, subject(scenario)), subject(scenario)).engine
        == "bf16 on vector units, in fp32"
    )
    scenario = replace(scenario, gpu="a100")
    assert (
        totals(predict(scenario, subject(scenario)), subject(scenario)).engine
        == "bf16 on tensor units"
    )
    scenario = apply(replace(scenario, gpu="h200"), "fp8", {})
    assert (
        totals(predict(scenario, subject(scenario)), subject(scenario)).engine
        == "fp8 on tensor units"
    )


def test_the_verdict_reports_that_exact_fell_back_to_rules(
    tiny: Subject, tiny_prediction: Prediction
) -> None:
    assert "--exact" not in verdict(tiny_prediction, tiny)
    by_rules = replace(tiny_prediction, notes=(f"{NO_EXACT_ANSWER}: it needs Linux",))
    assert verdict(by_rules, tiny).endswith(
        "; fused by rules, not by the real compiler (--exact): see the notes"
    )
