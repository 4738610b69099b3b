"""Plans of mixtures of experts: their what-ifs, layers and bounds."""

from __future__ import annotations

import pytest

from simulator.hardware.gpu import gpu
from simulator.planning.bounds import bound, products_bound
from simulator.planning.spec_file import read
from simulator.planning.step.scenarios import engine_scenario
from simulator.planning.step.traced_step import NetworkSize, few_layers, of_rank, parts

TOTAL, USED = 116.8e9, 5.1e9
"""The number of parameters of gpt-oss-120b, and the number that a token uses."""


@pytest.mark.parametrize(
    ("network", "card", "precision", "engine", "whatifs"),
    [
        ("gpt-oss-120b", "h200", "nvfp4", "vllm", ["weights", "fused_experts"]),
        ("gpt-oss-120b", "b200", "nvfp4", "vllm", ["nvfp4", "fused_experts"]),
        ("minimax-m2-decode", "h200", "fp8", "vllm", ["fp8", "fused_experts"]),
        ("minimax-m2-decode", "h200", "fp8", "eager", ["fp8"]),
        ("minimax-m2", "h200", "bf16", "compiled+graph", []),
        ("llama3-8b", "h200", "fp8", "vllm", ["fp8"]),
    ],
)
def test_engines_and_precisions_are_whatifs(
    network: str, card: str, precision: str, engine: str, whatifs: list[str]
) -> None:
    scenario = engine_scenario(network, gpu(card), precision, engine)
    assert [each.name for each in scenario.whatifs] == whatifs
    assert scenario.mode == ("eager" if engine == "eager" else "cuda_graph")
    modules = [each.arguments.get("modules") for each in scenario.whatifs[:1]]
    if network == "gpt-oss-120b":  # in its published weights, only the experts are in low precision
        assert modules == ["**.experts"]
    elif precision != "bf16":
        assert modules == ["**"]


@pytest.mark.parametrize(
    ("network", "few", "weights"),
    [
        ("gpt-oss-120b-decode", (2, 4), (-16.0, 17.0)),  # 2 + 17 · 2 = 36 layers
        ("minimax-m2-decode", (1, 2), (-60.0, 61.0)),
    ],
)
def test_few_layers_stand_for_all(
    network: str, few: tuple[int, int], weights: tuple[float, float]
) -> None:
    scenario = of_rank(engine_scenario(network, gpu("h200"), "bf16", "vllm"), 2)
    assert few_layers(scenario) == few
    shares, some = zip(*parts(scenario), strict=True)
    assert shares == weights
    assert tuple(each.sizes["layers"] for each in some) == few
    layers = sum(w * n for w, n in zip(weights, few, strict=True))
    assert layers == (36 if few[0] == 2 else 62)


def test_a_card_need_only_multiply_the_experts_of_a_token() -> None:
    """All 116.8e9 parameters at 20 · 1,324 tokens a second would need 2 · 116.8e9 · 26,480 / 989e12
    = 6.3 H200s at their peak; the 5.1e9 used ones need 0.3."""
    spec = read({
        "workload": {"kind": "serving", "network": "gpt-oss-120b", "prompt": 1024, "output": 300},
        "load": {"rate": "20/s"},
        "limits": {"per_token": "50 ms", "percentile": 99},
        "candidates": {"gpus": ["h200"], "counts": [1, 2, 4]},
    })  # fmt: skip
    card = gpu("h200")
    assert bound(spec, card, "nvfp4", NetworkSize(TOTAL, USED)) is None
    assert products_bound(spec, card, "nvfp4", NetworkSize(TOTAL, USED)) is None
    shortage = products_bound(spec, card, "nvfp4", NetworkSize(TOTAL, TOTAL))
    assert shortage is not None and shortage.excess == pytest.approx(6.3 / 4, abs=0.02)
    assert shortage.reason == (
        "the products alone need 6.3 cards at their peak, and 4 at most are tried"
    )
    alone = bound(spec, card, "bf16", NetworkSize(TOTAL, USED))
    assert alone is not None and alone.reason == (
        "weights of 217.6 GiB do not fit in 126.9 GiB (90% of the memory); tp=2 holds them"
    )
