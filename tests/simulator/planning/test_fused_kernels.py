"""The savings of fused kernels and merged products, and their limits."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from simulator.hardware.gpu import gpu
from simulator.networks.catalogue import build
from simulator.planning.spec import Workload
from simulator.planning.step.fused_kernels import plain_and_fused_s, saved_s
from simulator.planning.step.scenarios import base_scenario
from simulator.planning.step.tables import machine
from simulator.scenario.predict import predict
from simulator.whatif import apply

WORK = Workload("serving", "llama3-8b", token_budget=2048, max_requests=64)


def test_merged_products_compute_the_same() -> None:
    """The stacked weights of three products and of two give the same logits."""
    sizes = {"width": 32, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 48, "vocab": 50}
    torch.manual_seed(0)
    apart, merged = build("llama3-8b", **sizes), build("llama3-8b", **sizes, merged=True)
    weights = apart.state_dict()
    stacked = {
        name: weights[name] for name in merged.state_dict() if not name.endswith("merged.weight")
    }
    for layer in range(2):
        attention, mlp = (f"layers.{layer}.{part}." for part in ("attention", "feed_forward"))
        for to, parts in ((attention, ("query", "key", "value")), (mlp, ("gate", "up"))):
            rows = torch.cat([weights[f"{to}{part}.weight"] for part in parts])
            stacked[f"{to}merged.weight"] = rows
    merged.load_state_dict(stacked)
    ids = torch.randint(0, 50, (2, 7))
    assert torch.allclose(apart(ids), merged(ids), atol=1e-5)


def test_the_saving_is_larger_for_a_prompt_and_linear_beyond_it() -> None:
    card = gpu("h200")
    prefill, decode = (
        base_scenario(n, card, "bf16", "cuda_graph") for n in ("llama3-8b", "llama3-8b-decode")
    )
    plain, fused = plain_and_fused_s(decode, [(1, 1), (256, 1)])
    assert (fused < plain).all()
    tokens = np.array([1.0, 256.0, 2048.0, 4096.0])
    saved = saved_s(prefill, (1, 256), plain - fused, 0.0, tokens)
    assert saved[:2] == pytest.approx(plain - fused)
    assert saved[2] > 2 * saved[0]
    # beyond the prompt, the slope stays the same
    assert saved[3] - saved[2] == pytest.approx((saved[2] - saved[1]) * 2048 / (2048 - 256))
    more = saved_s(prefill, (1, 256), plain - fused, 1e-3, tokens)
    assert more[2] - saved[2] == pytest.approx(1e-3)


def test_few_layers_stand_for_a_whole_network() -> None:
    """The prediction of all 32 layers, fused, differs by less than 0.5%."""
    decode = base_scenario("llama3-8b-decode", gpu("h200"), "bf16", "cuda_graph")
    _, fused = plain_and_fused_s(decode, [(16, 1)])
    merged = replace(decode, batch=16, seq=1, sizes={**decode.sizes, "merged": True})
    whole = predict(apply(merged, "fusion", {"level": "compiled"}))
    assert fused[0] == pytest.approx(whole.period_s, rel=0.005)


@pytest.mark.parametrize("precision", ["bf16", "fp8"])
def test_an_engine_is_faster_than_captured_eager_kernels_but_reads_its_weights(
    precision: str,
) -> None:
    card = gpu("h200")
    captured, engine = (machine(WORK, card, precision, name) for name in ("captured", "vllm"))
    for batch in (1, 16, 64):
        fastest_s = engine.weight_bytes / card.bandwidth_bytes_per_s
        assert fastest_s < engine.step.decode_s[batch] < captured.step.decode_s[batch]
    assert (engine.step.forward_s <= captured.step.forward_s).all()
