"""Decoders whose feed-forward layers are mixtures of many small experts: gpt-oss (OpenAI 2025,
"gpt-oss-120b & gpt-oss-20b Model Card"), Qwen3 (Yang et al. 2025, "Qwen3 Technical Report") and
MiniMax-M2."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output
from simulator.networks.sequences.grouped_experts import GroupedExperts, Router
from simulator.networks.sequences.llama import Rope, rotate
from simulator.networks.sequences.window_attention import attend_in_window


class HeadAttention(nn.Module):
    """Grouped-query attention with heads of `d` numbers. A token sees the last `window` tokens, or
    all if it is 0. With `normed`, queries and keys pass RMS norms. With `merged` one product
    computes queries, keys and values."""

    def __init__(
        self,
        width: int,
        heads: int,
        kv_heads: int,
        d: int,
        window: int,
        bias: bool,
        normed: bool,
        merged: bool,
    ) -> None:
        super().__init__()
        self.d, self.window = d, window
        self.rows = [heads * d, kv_heads * d, kv_heads * d]
        products = [sum(self.rows)] if merged else self.rows
        self.projections = nn.ModuleList(nn.Linear(width, rows, bias) for rows in products)
        self.norms = nn.ModuleList(nn.RMSNorm(d, eps=1e-6) for _ in range(2 * normed))
        self.out = nn.Linear(heads * d, width, bias)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """x [batch, seq, width] -> the same shape. With a cache (keys and values, [batch, kv_heads,
        cached, d] each) x is the newest token, whose key and value overwrite the last position."""
        batch, seq, _ = x.shape
        projected = [projection(x) for projection in self.projections]
        parts = projected if len(projected) > 1 else projected[0].split(self.rows, dim=-1)
        q, k, v = (part.view(batch, seq, -1, self.d).transpose(1, 2) for part in parts)
        if self.norms:
            q, k = (norm(part) for norm, part in zip(self.norms, (q, k), strict=True))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if cache is not None:
            cache[0][:, :, -seq:].copy_(k)
            cache[1][:, :, -seq:].copy_(v)
            y = F.scaled_dot_product_attention(q, *cache, enable_gqa=True)
        elif 0 < self.window < seq:
            y = attend_in_window(q, k, v, self.window)
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(y.transpose(1, 2).reshape(batch, seq, -1))


class MoeLayer(nn.Module):
    """Pre-norm attention, then a pre-norm mixture of experts."""

    def __init__(
        self, width: int, attention: HeadAttention, router: Router, experts: GroupedExperts
    ) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(width, eps=1e-5)
        self.attention = attention
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.router = router
        self.experts = experts

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """[batch, seq, width] -> the same shape."""
        x = x + self.attention(self.attention_norm(x), cos, sin, cache)
        tokens = self.norm(x).flatten(0, 1)
        return x + self.experts(tokens, *self.router(tokens)).view(x.shape)


class MoeDecoder(nn.Module):
    """The decoder. With a `window`, every second layer, beginning with the first, attends to that
    many tokens. Left out: gpt-oss' attention sinks (a number for each head) and clamps, whose cost
    is negligible.

    With `ranks` it is the part of one rank in a tensor-parallel group of that size: its share of
    the heads, of each expert's `hidden` and of the vocabulary, without the collectives. Keys and
    values are repeated if there are more ranks than `kv_heads`.
    """

    def __init__(
        self,
        width: int = 2880,
        layers: int = 36,
        heads: int = 64,
        kv_heads: int = 8,
        d: int = 64,
        hidden: int = 2880,
        experts: int = 128,
        top: int = 4,
        vocab: int = 201088,
        window: int = 0,
        bias: bool = False,
        normed: bool = False,
        theta: float = 150000.0,
        merged: bool = False,
        ranks: int = 1,
    ) -> None:
        super().__init__()
        for name, size in (("heads", heads), ("hidden", hidden), ("vocab", vocab)):
            if ranks < 1 or size % ranks:
                raise ValueError(f"ranks = {ranks} does not divide {name} = {size}: use a divisor")
        self.vocab, self.d = vocab // ranks, d
        self.kv_heads = max(1, kv_heads // ranks)
        self.tokens = nn.Embedding(self.vocab, width)
        self.rope = Rope(d, theta)
        self.layers = nn.ModuleList(
            MoeLayer(
                width,
                HeadAttention(
                    width,
                    heads // ranks,
                    self.kv_heads,
                    d,
                    window if layer % 2 == 0 else 0,
                    bias,
                    normed,
                    merged,
                ),
                Router(width, experts, top, bias),
                GroupedExperts(width, hidden // ranks, experts, bias),
            )
            for layer in range(layers)
        )
        self.norm = nn.RMSNorm(width, eps=1e-5)
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
