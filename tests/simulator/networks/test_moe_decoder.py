"""Mixtures of experts against plain loops, windows against a mask, decoding against prefill."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from simulator.networks.sequences.grouped_experts import GroupedExperts, Router
from simulator.networks.sequences.moe_decode import MoeDecode
from simulator.networks.sequences.moe_decoder import MoeDecoder
from simulator.networks.sequences.window_attention import attend_in_window

SIZES = dict(width=32, layers=4, heads=4, kv_heads=2, d=8, hidden=16, experts=4, top=2, vocab=50)


@pytest.mark.parametrize("seq", [5, 8, 13, 16])
def test_a_window_is_a_mask(seq: int) -> None:
    torch.manual_seed(seq)
    q, k, v = (torch.randn(2, heads, seq, 8) for heads in (4, 2, 2))
    ahead = torch.arange(seq)[:, None] - torch.arange(seq)
    mask = (ahead >= 0) & (ahead < 4)
    expected = F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
    torch.testing.assert_close(attend_in_window(q, k, v, 4), expected)


def test_grouped_experts_are_a_loop_over_tokens() -> None:
    torch.manual_seed(0)
    router, experts = Router(8, 5, 2, bias=True), GroupedExperts(8, 12, 5, bias=True)
    torch.nn.init.normal_(experts.gate_up_bias)  # pyright: ignore[reportArgumentType]
    torch.nn.init.normal_(experts.down_bias)  # pyright: ignore[reportArgumentType]
    x = torch.randn(7, 8)
    shares, chosen = router(x)
    rows: list[Tensor] = []
    for token, own_shares, own in zip(x, shares, chosen, strict=True):
        parts: list[Tensor] = []
        for share, expert in zip(own_shares, own.tolist(), strict=True):
            hidden = experts.gate_up[expert] @ token + experts.gate_up_bias[expert]  # pyright: ignore
            gate, up = hidden.chunk(2)
            y = experts.down[expert] @ (F.silu(gate) * up) + experts.down_bias[expert]  # pyright: ignore
            parts.append(share * y)
        rows.append(torch.stack(parts).sum(0))
    torch.testing.assert_close(experts(x, shares, chosen), torch.stack(rows))
    torch.testing.assert_close(shares.sum(1), torch.ones(7))


@pytest.mark.parametrize("window", [0, 4])
@pytest.mark.parametrize("merged", [False, True])
def test_a_decode_is_the_last_token_of_a_prefill(window: int, merged: bool) -> None:
    torch.manual_seed(0)
    prefill = MoeDecoder(**SIZES, window=window, merged=merged, normed=True).eval()
    decode = MoeDecode(**SIZES, window=window, merged=merged, normed=True).eval()
    decode.load_state_dict(prefill.state_dict())
    ids = torch.randint(0, 50, (2, 9))
    keys: list[Tensor] = []
    handles = [
        layer.attention.register_forward_pre_hook(lambda _, inputs: keys.append(inputs[0]))
        for layer in prefill.layers
    ]
    with torch.no_grad():
        expected = prefill(ids)[:, -1:]  # pyright: ignore
        cache: list[Tensor] = []
        cos, sin = prefill.rope(torch.arange(9), torch.float32)
        for layer, x in zip(prefill.layers, keys, strict=True):
            attention = layer.attention
            parts = [p(x) for p in attention.projections]  # pyright: ignore
            parts = parts[0].split(attention.rows, -1) if merged else parts  # pyright: ignore
            _, k, v = (p.view(2, 9, -1, 8).transpose(1, 2) for p in parts)
            k = attention.norms[1](k)  # pyright: ignore
            first, second = k.chunk(2, -1)
            k = k * cos + torch.cat((-second, first), -1) * sin
            last = min(9, attention.window) if attention.window else 9  # pyright: ignore
            cache += [k[:, :, -last:].clone(), v[:, :, -last:].clone()]
        logits = decode(ids[:, -1:], torch.tensor([8]), *cache)
    for handle in handles:
        handle.remove()
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


def test_a_rank_has_its_share() -> None:
    sizes = SIZES | {"vocab": 48}
    whole, rank = (MoeDecoder(**sizes, ranks=n) for n in (1, 4))
    count = {n: p.numel() for n, p in whole.named_parameters()}
    shared = {n: p.numel() for n, p in rank.named_parameters()}
    assert shared["layers.0.experts.down"] == count["layers.0.experts.down"] // 4
    assert shared["tokens.weight"] == count["tokens.weight"] // 4
    assert rank.kv_heads == 1  # instead of two: keys and values are repeated
    with pytest.raises(ValueError, match=r"ranks = 3 does not divide heads = 4: use a divisor"):
        MoeDecoder(**SIZES, ranks=3)
