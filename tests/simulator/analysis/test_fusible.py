"""The fusions that advice proposes are legal and the best available, and their figures equal those
of a fresh prediction."""

from __future__ import annotations

from itertools import combinations

import pytest

from simulator.analysis.advice import advise, sample_s
from simulator.analysis.fusible import fusible
from simulator.errors import InputError
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict
from simulator.timing.profile import learned
from simulator.whatif import apply, parse
from tests.simulator.whatif.conftest import small_scenario

BERT = small_scenario("bert-base", seq=64, dtype="fp16")
WIDE = small_scenario("mlp-tiny", sizes=dict(width=4096), dtype="fp16", batch=1024)
NETWORKS = (
    BERT,
    WIDE,
    small_scenario("gpt2", seq=32, dtype="autocast", training=True),
    small_scenario("resnet18", dtype="fp16"),
)


def fused(base: Scenario, ops: str) -> Prediction:
    return predict(apply(base, "fuse", {"ops": ops}))


def tried(base: Scenario) -> list[str]:
    p = predict(base)
    return [each.ops for each in fusible(p, learned(p.gpu.id))]


@pytest.mark.parametrize("base", NETWORKS, ids=lambda s: s.network)
def test_the_few_tried_fusions_are_legal_and_worthwhile(base: Scenario) -> None:
    before, listed = predict(base), tried(base)
    assert 1 <= len(listed) <= 5
    for ops in listed:
        after = fused(base, ops)
        assert after.kernel_count < before.kernel_count
        assert after.period_s < before.period_s or after.gpu_busy_s < before.gpu_busy_s
    sets = [set(ops.split("+")) for ops in listed[:4]]
    assert not any(a <= b or b <= a for a, b in combinations(sets, 2))


def test_no_pair_of_ops_gains_more_than_the_tried_ones() -> None:
    base = predict(BERT)
    names = sorted({op.name.split(".")[1] for op in base.trace.ops})
    gains: dict[str, float] = {}
    for pair in combinations(names, 2):
        try:
            gains["+".join(pair)] = base.period_s - fused(BERT, "+".join(pair)).period_s
        except InputError:
            continue
    best = max(base.period_s - fused(BERT, ops).period_s for ops in tried(BERT))
    assert len(gains) >= 2 and best >= max(gains.values()) > 0


def test_its_stated_gain_is_that_of_a_fresh_prediction_and_its_command_asks_for_it() -> None:
    before, advised = predict(BERT), advise(BERT, trials=())
    each = [a for a in advised.advice if a.whatif.startswith("+fuse=")]
    assert "+fuse=addmm+gelu" in {a.whatif for a in each}
    for a in each:
        again = predict(apply(BERT, *parse(a.command.split()[-1])))
        assert a.gain == 1 - sample_s(again) / sample_s(before)
        assert (a.period_s, a.interval_s) == (again.period_s, again.interval_s)
        fewer = 1 - again.kernel_count / before.kernel_count
        assert a.cause == f"overhead is 100% of the step: {fewer:.0%} fewer launches"
        assert a.changes == "code"


def test_the_cause_is_the_saved_traffic_of_a_memory_bound_step() -> None:
    images = small_scenario("resnet18", dtype="fp16", batch=512, sizes=dict(width=32))
    advice = next(a for a in advise(images, trials=()).advice if a.whatif.startswith("+fuse="))
    memory = predict(images).shares["memory"]
    assert advice.whatif == "+fuse=convolution+native_batch_norm+relu_"
    assert advice.cause == (
        f"memory bandwidth is {memory:.0%} of the step: native_batch_norm and relu_ run in "
        "convolution's kernel, and intermediate values stay out of memory"
    )


def test_a_warning_names_a_local_gain_that_the_host_hides() -> None:
    """With many small ops and a loss over many words, fusion saves the host only a few ops."""
    words = small_scenario(
        "gpt2", seq=128, dtype="autocast", training=True, sizes=dict(vocab=50_000)
    )
    slow = apply(words, "host_speed", {"times": 0.2})
    ops = "nll_loss_backward+_log_softmax_backward_data+_to_copy"
    a = next(a for a in advise(slow, trials=()).advice if a.whatif == f"+fuse={ops}")
    before, after = predict(slow), fused(slow, ops)
    assert a.local_gain == 1 - after.gpu_busy_s / before.gpu_busy_s > 0.02
    assert a.gain == 1 - after.period_s / before.period_s < a.local_gain / 2
    assert a.warning == (
        f"the GPU has {a.local_gain:.0%} less to do, but the step gains {a.gain:.0%}: it waits "
        "for the host; apply cuda_graph first"
    )


def test_fusions_of_the_compiler_are_not_tried_again() -> None:
    for texts in (["+fusion=compiled"], ["+cuda_graph", "+fusion=pointwise"]):
        base = BERT
        for text in texts:
            base = apply(base, *parse(text))
        assert tried(base) == []


def test_a_convolution_with_an_epilogue_is_laid_out_as_before() -> None:
    """It uses NHWC, so its input and result are converted whether it is fused or not."""
    base = NETWORKS[3]
    before, after = predict(base), fused(base, "convolution+native_batch_norm+relu_")
    turned = [
        [work.bytes for work in (p.works[i] for i in p.columns.work_of) if work.family == "layout"]
        for p in (before, after)
    ]
    assert turned[0] and turned[0] == turned[1]
    assert "fused.product.default" in after.trace.names()
