"""max-autotune: the products that use a template with an epilogue, and the notes about them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from simulator import predict_trace
from simulator.fusion import fused
from simulator.fusion.lowering.library.padding import timer
from simulator.fusion.scheduling.partition import partition
from simulator.fusion.scheduling.templates import faster
from simulator.hardware.gpu import gpu
from simulator.lowering import launches
from simulator.records import Signature, Trace
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import trace_resolved
from simulator.timing.profile import AUTOTUNED, profile
from simulator.timing.roofline import curve
from simulator.whatif import apply

H200 = gpu("h200")
AUTO, PLAIN = "max-autotune-no-cudagraphs", "compiled"


def network(dtype: str = "bf16", width: int = 512, batch: int = 65536) -> Trace:
    sizes = {"width": width, "depth": 3}
    return trace_resolved(resolve(Scenario("mlp-tiny", dtype=dtype, batch=batch, sizes=sizes)))


def products(step: Trace) -> list[str]:
    return [op.name for op in fused(step, H200, "max-autotune", profile()).trace.ops]


def with_slow_templates(ops: Sequence[Signature]) -> list[float]:
    times = timer(H200, profile())(ops)
    slow = ["fused.product" in op.name for op in ops]
    return [
        9 * seconds if is_slow else seconds for seconds, is_slow in zip(times, slow, strict=True)
    ]


def test_a_loop_joins_its_product_where_the_template_takes_less_than_both():
    for width, batch in ((512, 65536), (2048, 1024), (128, 32)):
        step = network(width=width, batch=batch)
        groups = partition(step, H200, "compiled", profile())
        pays = faster(step, timer(H200, profile()))
        expected = [
            pays(product, loop)
            for product, loop in pairwise(groups)
            if product.library and not loop.library and product in loop.sources
        ]
        library = products(step)
        assert library.count("fused.product.default") == sum(expected)
        assert expected == [True] * 3
        never = faster(step, with_slow_templates)
        assert not any(never(a, b) for a, b in pairwise(groups) if a in b.sources and a.library)


def test_a_template_is_one_kernel_whatever_the_library_launches():
    compiled = fused(network(), H200, "max-autotune", profile()).trace
    op = next(op for op in compiled.ops if op.name == "fused.product.default")
    (work,) = launches(op.signature, H200) or ()
    assert curve(work) == "gemm_tensor_half"
    # 2·m·n·k for the product, and the FLOPs of the ReLU after it
    assert work.flops >= 2 * 65536 * 512 * 512
    # the rows, the weight, the bias and the result, of two bytes each
    assert work.bytes == 2 * (65536 * 512 + 512 * 512 + 512 + 65536 * 512)


def test_float32_and_the_usual_mode_keep_the_librarys_products():
    assert "fused.product.default" not in products(network("fp32"))
    plain = fused(network(), H200, "compiled", profile()).trace
    assert "fused.product.default" not in [op.name for op in plain.ops]


def test_the_answer_notes_the_approximation_and_has_a_wider_interval():
    step = network(batch=262144)  # the GPU decides, so that the host is not in the interval
    auto, plain = (predict_trace(step, mode=mode) for mode in (AUTO, PLAIN))
    assert any(note.startswith("max-autotune is approximated: 3 products") for note in auto.notes)
    low, high = (end / auto.period_s for end in auto.interval_s)
    usual_low, usual_high = (end / plain.period_s for end in plain.interval_s)
    assert (low, high) == pytest.approx((usual_low * AUTOTUNED[0], usual_high * AUTOTUNED[1]))
    assert len(auto.trace.ops) == len(plain.trace.ops) - 3
    assert auto.host_s < plain.host_s


def test_with_graphs_and_without_the_kernels_are_the_same():
    step = network()
    with_graphs, without = (predict_trace(step, mode=mode) for mode in ("max-autotune", AUTO))
    assert with_graphs.host_s < without.host_s
    own = [op.name for op in without.trace.ops]
    assert [op.name for op in with_graphs.trace.ops] == ["aten._foreach_copy_.default", *own]


def test_what_ifs_keep_templates_in_a_graph_of_all_and_drop_them_with_another_level():
    scenario = Scenario("mlp-tiny", dtype="bf16", mode="max-autotune")
    graph = resolve(apply(scenario, "cuda_graph"))
    assert (graph.mode, graph.fusion) == ("cuda_graph", "max-autotune")
    level = resolve(apply(scenario, "fusion", {"level": "pointwise"}))
    assert (level.mode, level.fusion) == ("reduce-overhead", "pointwise")
    assert "pointwise fusion has no templates that this mode could choose" in level.notes[-1]
    whole = resolve(apply(scenario, "fusion", {"level": "compiled"}))
    assert (whole.mode, whole.fusion) == ("max-autotune", None)  # this level already fuses all ops
    off = resolve(apply(scenario, "fusion", {"level": "none"}))
    assert (off.mode, off.fusion) == ("eager", None)
