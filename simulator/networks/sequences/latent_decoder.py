"""DeepSeek-V3: latent attention, and mixtures of many experts after a few dense layers
(DeepSeek-AI 2024, "DeepSeek-V3 Technical Report"). R1 has the same sizes."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output
from simulator.networks.sequences.latent_attention import LatentAttention, LatentSizes
from simulator.networks.sequences.llama import Rope, SwiGlu
from simulator.networks.sequences.shared_mixture import GroupRouter, RankExperts, SharedMixture


class LatentLayer(nn.Module):
    """Pre-norm latent attention, then a pre-norm feed-forward layer."""

    def __init__(self, width: int, attention: LatentAttention, feed_forward: nn.Module) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(width, eps=1e-6)
        self.attention = attention
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.feed_forward = feed_forward

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, cache: Tensor | None = None) -> Tensor:
        """[batch, seq, width] -> the same shape; with a cache, of the newest token."""
        x = x + self.attention(self.attention_norm(x), cos, sin, cache)
        return x + self.feed_forward(self.norm(x))


class LatentDecoder(nn.Module):
    """The decoder, without the head that predicts a second token. The first `dense` layers have no
    experts. The long-context rescaling of RoPE is left out: it costs nothing per token.

    With `ranks` it is the part of one GPU among that many, without the collectives: its share of
    the heads, of the vocabulary and of `hidden` of every layer and expert. The latent, and so the
    cache, is on every GPU. With `expert_parallel` the GPU has whole experts, a share of their
    number. With `attention_dp` only the experts are divided, and the GPU has its own sequences. Its
    experts compute as many tokens, from all GPUs, as the GPU itself has.
    """

    def __init__(
        self,
        width: int = 7168,
        layers: int = 61,
        dense: int = 3,
        heads: int = 128,
        hidden: int = 2048,
        dense_hidden: int = 18432,
        experts: int = 256,
        top: int = 8,
        groups: int = 8,
        top_groups: int = 4,
        scale: float = 2.5,
        query_latent: int = 1536,
        latent: int = 512,
        plain: int = 128,
        rotated: int = 64,
        value: int = 128,
        vocab: int = 129280,
        theta: float = 10000.0,
        merged: bool = False,
        ranks: int = 1,
        expert_parallel: bool = False,
        attention_dp: bool = False,
    ) -> None:
        super().__init__()
        shared = experts if expert_parallel else hidden
        for name, size in (("heads", heads), ("vocab", vocab), ("its experts", shared)):
            if ranks < 1 or size % ranks:
                raise ValueError(f"ranks = {ranks} does not divide {name} = {size}: use a divisor")
        if attention_dp and not expert_parallel:
            raise ValueError(
                "attention_dp needs expert_parallel: set expert_parallel, or leave both out"
            )
        if expert_parallel and not attention_dp and top % ranks:
            raise ValueError(f"ranks = {ranks} does not divide top = {top}: use a divisor")
        split = 1 if attention_dp else ranks
        self.vocab = vocab // split
        self.rotated, self.cached = rotated, latent + rotated
        sizes = LatentSizes(query_latent, latent, plain, rotated, value)

        def feed_forward(layer: int) -> nn.Module:
            if layer < dense:
                return SwiGlu(width, dense_hidden // split, merged)
            router = GroupRouter(width, experts, top, groups, top_groups, scale)
            own = RankExperts(
                width,
                hidden if expert_parallel else hidden // ranks,
                experts // (ranks if expert_parallel else 1),
                ranks if expert_parallel and not attention_dp else 1,
            )
            return SharedMixture(router, own, SwiGlu(width, hidden // split, merged))

        self.tokens = nn.Embedding(self.vocab, width)
        self.rope = Rope(rotated, theta)
        self.layers = nn.ModuleList(
            LatentLayer(
                width, LatentAttention(width, heads // split, sizes, merged), feed_forward(layer)
            )
            for layer in range(layers)
        )
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.head = nn.Linear(width, self.vocab, bias=False)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        """ids [batch, seq], then labels [batch, seq] if training."""
        ids = torch.randint(0, self.vocab, (batch, seq))
        return (ids, torch.randint(0, self.vocab, (batch, seq))) if training else (ids,)

    def forward(self, ids: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """ids [batch, seq] -> logits [batch, seq, vocab]."""
        x = self.tokens(ids)
        cos, sin = self.rope(torch.arange(ids.shape[1], device=ids.device), x.dtype)
        for layer in self.layers:
            x = layer(x, cos, sin)
        logits = self.head(self.norm(x))
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits.float().flatten(0, 1), labels.flatten()))


class LatentDecode(LatentDecoder):
    """The decoder with the same sizes and weights, run for the last of `seq` tokens: one step of
    generation, with the products of keys and values moved to queries and outputs."""

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        """ids [batch, 1], positions [1], then the cache of each layer, [batch, seq, latent +
        rotated]."""
        if training:
            raise ValueError(
                "decoding is inference only: use training=False, or train LatentDecoder"
            )
        dtype = self.tokens.weight.dtype
        cache = [torch.randn(batch, seq, self.cached, dtype=dtype) for _ in self.layers]
        return torch.randint(0, self.vocab, (batch, 1)), torch.full((1,), seq - 1), *cache

    # The cache takes the place of labels. It outlives the step, so it must not hold a graph.
    @torch.no_grad()
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, ids: Tensor, positions: Tensor, *cache: Tensor
    ) -> Tensor:
        """ids [batch, 1], positions [1], cache -> logits [batch, 1, vocab]; writes the cache's last
        position."""
        x = self.tokens(ids)
        cos, sin = self.rope(positions, x.dtype)
        for layer, cached in zip(self.layers, cache, strict=True):
            x = layer(x, cos, sin, cached)
        return self.head(self.norm(x))
