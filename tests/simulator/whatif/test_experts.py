"""Experts in low precision, and in the kernels of serving engines."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.errors import InputError
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply

SIZES = dict(
    width=256, layers=2, heads=4, kv_heads=2, d=64, hidden=128, experts=8, top=2, vocab=512
)
STORED = 2 * 8 * 3 * 256 * 128
"""The number of elements of the experts' weights."""


def decode(**more: Any) -> Scenario:
    settings = {"network": "qwen3-30b-decode", "batch": 4, "seq": 64, "dtype": "bf16"}
    settings |= {"mode": "cuda_graph", "sizes": SIZES}
    return Scenario(**(settings | more))


def expert_kernels(p: Prediction) -> list[str]:
    """Names of the kernels of the first layer's mixture."""
    parts = ("layers.0.experts", "layers.0.router")
    return [k.name.partition(".")[0] for k in p.kernels if k.module.startswith(parts)]


def product_flops(p: Prediction) -> float:
    return sum(k.flops for k in p.kernels if k.family == "gemm")


@pytest.mark.parametrize(("whatif", "gpu", "bits"), [
    ("fp8", "h200", 8), ("nvfp4", "b200", 4.5),
    ("weights=int8", "h200", 8), ("weights=nvfp4", "h200", 4.5),
])  # fmt: skip
def test_weights_of_experts_take_fewer_bytes(whatif: str, gpu: str, bits: float) -> None:
    plain = decode(gpu=gpu)
    name, _, dtype = whatif.partition("=")
    given = {"modules": "**.experts"} | ({"dtype": dtype} if dtype else {})
    before, after = predict(plain), predict(apply(plain, name, given))
    saved = before.trace.weight_bytes - after.trace.weight_bytes
    # int8 has a scale of 2 bytes for each of the 2 · 8 · (256 + 256) rows
    scales = 2 * 8 * 512 * 2 if dtype == "int8" else 0
    assert saved == STORED * (16 - bits) / 8 - scales
    assert product_flops(after) == product_flops(before)


def test_float8_quantises_each_row_of_an_expert() -> None:
    kernels = expert_kernels(predict(apply(decode(), "fp8", {"modules": "**.experts"})))
    # two products, each preceded by its set-up kernel
    assert kernels.count("_scaled_grouped_mm") == 4
    assert kernels.count("amax") == 2


def test_fused_experts_are_six_kernels_beside_the_router() -> None:
    p = predict(apply(decode(), "fused_experts", {}))
    assert expert_kernels(p) == [
        "mm", "_softmax", "clone", "_grouped_mm", "mul", "_grouped_mm", "sum",
    ]  # fmt: skip
    assert product_flops(p) == product_flops(predict(decode()))
    assert p.period_s < predict(decode()).period_s


def test_a_router_of_groups_is_one_kernel_beside_its_product() -> None:
    sizes = dict(SIZES, layers=2, dense=1, dense_hidden=256, groups=4, top_groups=2)
    sizes = {k: v for k, v in sizes.items() if k not in ("kv_heads", "d")}
    p = predict(apply(decode(network="deepseek-v3-decode", sizes=sizes), "fused_experts", {}))
    router = [k.name.partition(".")[0] for k in p.kernels if ".router" in k.module]
    assert router == ["mm", "_softmax"]


def test_fused_experts_in_float8_quantise_in_one_kernel() -> None:
    small = apply(decode(), "fp8", {"modules": "**.experts"})
    kernels = expert_kernels(predict(apply(small, "fused_experts", {})))
    assert (kernels.count("_to_copy"), kernels.count("amax")) == (2, 0)
    assert kernels.count("_scaled_grouped_mm") == 2


@pytest.mark.parametrize(("scenario", "message"), [
    (Scenario("mlp-tiny"), "fused_experts: no grouped product (torch's grouped_mm) in modules "
     "'**': expected a mixture of experts; choose other modules"),
    (Scenario("qwen3-30b", batch=1, seq=32, dtype="bf16", training=True, sizes=SIZES),
     "fused_experts: these kernels have no backward pass: expected inference; predict inference "
     "instead"),
])  # fmt: skip
def test_networks_without_fused_experts_are_refused(scenario: Scenario, message: str) -> None:
    with pytest.raises(InputError) as caught:
        predict(apply(scenario, "fused_experts", {}))
    assert str(caught.value) == message
