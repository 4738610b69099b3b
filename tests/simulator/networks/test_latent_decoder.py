"""Latent attention against its published formulas, and the shares of one GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from simulator.networks.catalogue import build
from simulator.networks.sequences.latent_attention import LatentAttention, LatentSizes
from simulator.networks.sequences.latent_decoder import LatentDecode, LatentDecoder
from simulator.networks.sequences.llama import Rope, rotate
from simulator.networks.sequences.shared_mixture import GroupRouter

SIZES: dict[str, Any] = dict(
    width=32, layers=3, dense=1, heads=4, hidden=16, dense_hidden=24, experts=8, top=2, groups=4,
    top_groups=2, query_latent=24, latent=16, plain=8, rotated=4, value=8, vocab=48,
)  # fmt: skip


def test_attention_is_that_of_every_head_in_turn() -> None:
    """Computes the report's formulas for each head, position by position."""
    torch.manual_seed(0)
    sizes = LatentSizes(24, 16, 8, 4, 6)
    attention = LatentAttention(32, 3, sizes, merged=False)
    x = torch.randn(2, 5, 32)
    cos, sin = Rope(4, 10000.0)(torch.arange(5), torch.float32)
    query = attention.query_norm(attention.down[0](x))
    rest = attention.down[1](x)
    latent, shared = attention.cached_norm(rest[..., :16]), rotate(rest[..., 16:], cos, sin)
    query_up = attention.query_up.weight.view(3, 12, 24)
    up = attention.key_value_up.weight.view(3, 14, 16)
    heads: list[Tensor] = []
    for head in range(3):
        q_plain, q_rotated = query @ query_up[head, :8].T, query @ query_up[head, 8:].T
        keys, values = latent @ up[head, :8].T, latent @ up[head, 8:].T
        scores = q_plain @ keys.mT + rotate(q_rotated, cos, sin) @ shared.mT
        later = torch.arange(5)[:, None] < torch.arange(5)
        weights = (scores / 12**0.5).masked_fill(later, float("-inf")).softmax(-1)
        heads.append(weights @ values)
    expected = attention.out(torch.cat(heads, dim=-1))
    torch.testing.assert_close(attention(x, cos, sin), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("merged", [False, True])
def test_a_decode_is_the_last_token_of_a_prefill(merged: bool) -> None:
    torch.manual_seed(0)
    prefill = LatentDecoder(**SIZES, merged=merged).eval()
    decode = LatentDecode(**SIZES, merged=merged).eval()
    decode.load_state_dict(prefill.state_dict())
    ids = torch.randint(0, 48, (2, 9))
    entering: list[Tensor] = []
    handles = [
        layer.attention.register_forward_pre_hook(lambda _, inputs: entering.append(inputs[0]))
        for layer in prefill.layers
    ]
    with torch.no_grad():
        expected = prefill(ids)[:, -1:]  # pyright: ignore
        cos, sin = prefill.rope(torch.arange(9), torch.float32)
        cache = [
            layer.attention.projected(x, cos, sin)[2]  # pyright: ignore
            for layer, x in zip(prefill.layers, entering, strict=True)
        ]
        for cached in cache:
            cached[:, -1] = 0  # the newest token, whose entry the step computes
        logits = decode(ids[:, -1:], torch.tensor([8]), *cache)
    for handle in handles:
        handle.remove()
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


def test_the_router_takes_experts_of_the_best_groups_only() -> None:
    """Scores of 4 groups of 2: each group's two scores sum to 0.9, 1.0, 1.1 and 0.2, so the experts
    of group 0 are excluded, although expert 0 has the highest score."""
    router = GroupRouter(8, 8, top=3, groups=4, top_groups=2, scale=2.5)
    scores = torch.tensor([[0.85, 0.05, 0.4, 0.6, 0.5, 0.6, 0.1, 0.1]])
    router.scores.weight.data = torch.eye(8)
    shares, chosen = router(scores.logit())
    assert sorted(chosen[0].tolist()) == [3, 4, 5]
    torch.testing.assert_close(shares.sum(), torch.tensor(2.5))
    of_4 = shares[0, chosen[0].tolist().index(4)].item()
    assert of_4 == pytest.approx(2.5 * 0.5 / 1.7)


def test_a_bias_affects_only_the_choice() -> None:
    """The scores of the first group sum to 1.7, those of the second to 0.3 + 2 with the bias."""
    router = GroupRouter(4, 4, top=1, groups=2, top_groups=1, scale=1.0)
    router.scores.weight.data = torch.eye(4)
    router.bias[3] = 2.0
    shares, chosen = router(torch.tensor([[0.9, 0.8, 0.1, 0.2]]).logit())
    assert chosen.tolist() == [[3]] and shares.tolist() == [[1.0]]


def count(**more: int | bool) -> dict[str, int]:
    return {n: p.numel() for n, p in LatentDecoder(**SIZES, **more).named_parameters()}


def test_a_rank_has_its_share_but_the_whole_latent() -> None:
    whole, rank = count(), count(ranks=2)
    for name in ("attention.query_up.weight", "attention.out.weight", "feed_forward.experts.down"):
        assert rank[f"layers.1.{name}"] == whole[f"layers.1.{name}"] // 2
    assert rank["layers.1.attention.down.1.weight"] == whole["layers.1.attention.down.1.weight"]
    assert rank["layers.0.feed_forward.down.weight"] == 32 * 12
    ids, _, *cache = LatentDecode(**SIZES, ranks=2).example_inputs(3, 7)
    assert [tuple(c.shape) for c in cache] == 3 * [(3, 7, 16 + 4)] and ids.shape == (3, 1)


def test_whole_experts_are_as_many_numbers_as_shares_of_each() -> None:
    whole, rank = count(ranks=2), count(ranks=2, expert_parallel=True)
    assert rank == whole
    down = LatentDecoder(**SIZES, ranks=2, expert_parallel=True).layers[1].feed_forward.experts.down  # pyright: ignore
    # half of the 8 experts, each with its whole hidden width
    assert tuple(down.shape) == (4, 32, 16)


def test_sequences_of_its_own_need_everything_but_experts() -> None:
    whole, own = count(), count(ranks=2, expert_parallel=True, attention_dp=True)
    split = {n for n in whole if whole[n] != own[n]}
    assert split == {
        f"layers.{i}.feed_forward.experts.{n}" for i in (1, 2) for n in ("gate_up", "down")
    }


def test_a_rank_of_experts_computes_its_share_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """3 tokens with 2 experts each are 6 rows: 3 on each of 2 GPUs; 6 if each GPU has 3 tokens. Two
    layers have experts, with two products each."""
    rows: list[int] = []
    kernel = torch.nn.functional.grouped_mm

    def seen(left: Tensor, weight: Tensor, **options: Tensor) -> Tensor:
        rows.append(left.shape[0])
        return kernel(left, weight, **options)

    monkeypatch.setattr(torch.nn.functional, "grouped_mm", seen)
    for own in (False, True):
        net = LatentDecoder(**SIZES, ranks=2, expert_parallel=True, attention_dp=own).eval()
        with torch.no_grad():
            net(torch.randint(0, net.vocab, (1, 3)))
    assert rows == 4 * [3] + 4 * [6]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (dict(ranks=3), r"ranks = 3 does not divide heads = 4: use a divisor"),
        (dict(ranks=4, expert_parallel=True), r"ranks = 4 does not divide top = 2: use a divisor"),
        (dict(ranks=2, attention_dp=True), "attention_dp needs expert_parallel"),
    ],
)
def test_a_wrong_split_is_refused(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build("deepseek-v3", **{**SIZES, **sizes})
