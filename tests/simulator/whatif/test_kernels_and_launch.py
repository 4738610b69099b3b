"""What-ifs about kernels, launching, hardware and shape, one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from simulator.errors import InputError
from simulator.hardware.host import PYTHON
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply
from tests.simulator.whatif.conftest import small_scenario

BERT = small_scenario("bert-base", dtype="fp16", seq=16)


def test_attentions_backend_is_chosen_by_a_retrace():
    names = {
        backend: Counter(predict(apply(BERT, "sdpa", {"backend": backend})).trace.names())[
            f"aten._scaled_dot_product_{backend}_attention.default"
        ]
        for backend in ("flash", "efficient", "cudnn")
    }
    assert names == {"flash": 2, "efficient": 2, "cudnn": 2}  # one per layer
    plain = predict(apply(BERT, "sdpa", {"backend": "math"}))
    assert Counter(plain.trace.names())["aten.bmm.default"] == 4
    with pytest.raises(
        InputError, match=r"sdpa=flash: this kernel does not support queries .*float32"
    ):
        predict(apply(small_scenario("bert-base", seq=16), "sdpa", {"backend": "flash"}))


def test_a_backend_that_was_forced_is_forgotten_afterwards():
    before = predict(BERT).period_s
    predict(apply(BERT, "sdpa", {"backend": "math"}))
    assert (
        predict(small_scenario("bert-base", dtype="fp16", seq=17))
        .trace.names()
        .count("aten._scaled_dot_product_cudnn_attention.default")
        == 2
    )
    assert predict(BERT).period_s == before


def test_a_removed_op_takes_its_kernels_and_its_host_work_along():
    before, after = predict(BERT), predict(apply(BERT, "remove", {"op": "gelu"}))
    gone = [k for k in before.kernels if k.name == "gelu.default"]
    assert gone and before.kernel_count - after.kernel_count == len(gone)
    assert after.host_s < before.host_s
    layer = predict(apply(BERT, "remove", {"modules": "layers.0"}))
    assert not [op for op in layer.trace.ops if op.module.startswith("layers.0")]
    assert [op.module for op in layer.trace.ops if op.module.startswith("layers.1")]


def test_removing_nothing_or_everything_is_refused():
    with pytest.raises(InputError, match=r"remove: no op 'conv\*' in modules '\*\*'"):
        predict(apply(BERT, "remove", {"op": "conv*"}))
    with pytest.raises(InputError, match="remove: every op of the network"):
        apply(BERT, "remove")


def test_a_familys_utilisation_divides_its_time_but_not_its_start():
    before = predict(BERT)
    after = predict(apply(BERT, "utilisation", {"family": "gemm", "times": 2.0}))
    for was, now in zip(before.kernels, after.kernels, strict=True):
        k = 2 if was.family == "gemm" else 1
        assert now.compute_s == pytest.approx(was.compute_s / k)
        assert now.memory_s == pytest.approx(was.memory_s / k)
        assert now.fixed_s == pytest.approx(was.fixed_s, rel=1e-12)
    with pytest.raises(InputError, match="utilisation: no kernel of family 'convolution'"):
        predict(apply(BERT, "utilisation", {"family": "convolution"}))


def test_rates_of_one_change_nothing():
    twice = apply(apply(BERT, "rate", {"times": 2.0}), "rate", {"times": 0.5})
    plain, again = predict(BERT), predict(twice)
    assert (again.period_s, again.shares, again.idle) == (plain.period_s, plain.shares, plain.idle)


def test_without_python_only_dispatch_and_launches_remain():
    host = resolve(apply(BERT, "no_python")).host
    usual = resolve(BERT).host
    assert all(host.seconds[name] == 0 for name in PYTHON)
    assert host.seconds["op"] == usual.seconds["op"]
    before, after = predict(BERT), predict(apply(BERT, "no_python"))
    ops = before.trace.ops
    saved = sum(
        (sum(getattr(o, field) for o in ops) + getattr(before.trace, f"tail_{field}"))
        * usual.seconds[name]
        for name, field in PYTHON.items()
    )
    assert before.host_s - after.host_s == pytest.approx(saved)


def test_a_host_of_twice_the_speed_halves_the_hosts_time():
    before, after = predict(BERT), predict(apply(BERT, "host_speed", {"times": 2.0}))
    assert after.host_s == pytest.approx(before.host_s / 2)
    same = predict(Scenario(**{**vars(BERT), "host_speed": 2.0}))
    assert same.period_s == after.period_s


def test_a_short_queue_makes_the_host_wait():
    long = small_scenario("gpt2", dtype="bf16", seq=512, batch=32)
    one = predict(apply(long, "queue_depth", {"launches": 1}))
    assert one.period_s >= predict(long).period_s * (1 - 1e-12)
    late = predict(
        apply(one_by_one := apply(long, "batch", {"samples": 512}), "queue_depth", {"launches": 1})
    )
    assert late.period_s > predict(one_by_one).period_s


def test_without_syncs_a_graph_can_be_captured():
    sizes = dict(width=64, layers=1, heads=4, kv_heads=2, hidden=96, vocab=100)
    waits = Scenario("mixtral-small", batch=2, seq=16, sizes=sizes)
    with pytest.raises(InputError, match="cannot capture"):
        predict(apply(waits, "cuda_graph"))
    free = apply(waits, "no_syncs")
    assert predict(free).idle.sync_s == 0 < predict(waits).idle.sync_s
    assert predict(free).kernel_count == predict(waits).kernel_count
    assert predict(free).period_s < predict(waits).period_s
    assert predict(apply(free, "cuda_graph")).period_s < predict(free).period_s


def test_figures_are_scaled_set_and_noted():
    card = resolve(BERT).gpu
    twice = resolve(apply(BERT, "bandwidth")).gpu
    assert twice.bandwidth_bytes_per_s == 2 * card.bandwidth_bytes_per_s
    assert twice.tensor_flops_per_s == card.tensor_flops_per_s
    args = {"of": "tensor_flops_per_s.bf16", "value": 2e15}
    assert resolve(apply(BERT, "figure", args)).gpu.peak("tensor", "bf16") == 2e15
    assert any("figures were changed" in n for n in predict(apply(BERT, "bandwidth")).notes)
    back = apply(apply(BERT, "bandwidth"), "gpu", {"to": "h200"})
    assert resolve(back) == resolve(BERT)


def test_a_power_cap_slows_compute_and_not_dram():
    before, after = predict(BERT), predict(apply(BERT, "sustained_clock", {"times": 0.5}))
    card = after.gpu
    assert card.boost_hz == before.gpu.boost_hz / 2  # pyright: ignore
    assert card.bandwidth_bytes_per_s == before.gpu.bandwidth_bytes_per_s
    assert after.gpu_busy_s > before.gpu_busy_s


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("bandwidth", {"times": -1.0}, "bandwidth: times is -1.0: expected 0.1 to 10"),
        ("bandwidth", {"times": float("nan")}, "expected 0.1 to 10"),
        ("bandwidth", {"times": "fast"}, "times is 'fast': expected a number"),
        ("bandwidth", {"by": 2.0}, "bandwidth has no argument 'by': expected times"),
        ("batch", {}, r"batch needs samples: expected \+batch=SAMPLES; give it"),
        ("batch", {"samples": 2.5}, "expected a whole number"),
        ("batch", {"samples": 0}, "expected 1 to"),
        ("precision", {"dtype": "fp17"}, "did you mean 'fp1"),
        ("figure", {"of": "colour", "value": 2}, "of is 'colour': "),
        ("gpu", {"to": "h900"}, "unknown GPU 'h900'"),
        ("size", {"parameter": "depth", "value": 3}, "has no size 'depth': expected one of width"),
        ("size", {"parameter": "layers", "value": 0}, "size: layers is 0: expected 1 or more"),
        ("seq", {"tokens": 513}, "has 512 positions: expected seq 512 at most, got 513"),
        ("optimizer", {"to": "sgd"}, "optimizer: the step is inference"),
        ("nothing", {}, "unknown what-if 'nothing'"),
    ],
)
def test_impossible_what_ifs_are_refused_and_leave_the_scenario(
    name: str, arguments: dict[str, Any], text: str
):
    before = BERT.key
    with pytest.raises(InputError, match=text):
        apply(BERT, name, arguments)
    assert BERT.key == before


def test_a_network_without_a_sequence_has_no_such_axis():
    with pytest.raises(InputError, match="network 'resnet18' has no sequence"):
        apply(small_scenario("resnet18"), "seq", {"tokens": 8})


def test_shapes_equal_another_question():
    args = {"parameter": "layers", "value": 1}
    changed = predict(apply(apply(BERT, "size", args), "batch", {"samples": 8}))
    plain = predict(
        small_scenario("bert-base", dtype="fp16", seq=16, batch=8, sizes=dict(layers=1))
    )
    assert changed.trace == plain.trace


def test_frozen_parameters_get_no_gradient_and_no_state():
    base = small_scenario("mlp-tiny", sizes=dict(depth=2, width=64), training=True)
    before, after = predict(base), predict(apply(base, "freeze", {"parameters": "layers.0"}))
    weight = 4 * (64 * 64 + 64)  # of one layer, in bytes
    held = [
        sum(s.nbytes for s in p.trace.storages if s.role == "gradient") for p in (before, after)
    ]
    assert held[0] - held[1] == weight
    with pytest.raises(InputError, match=r"no module matches 'head\.x'"):
        predict(apply(base, "freeze", {"parameters": "head.x"}))
