"""Llama 3: Grattafiori et al. 2024, "The Llama 3 Herd of Models"."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding (Su et al. 2021): x [..., seq, d], cos and sin [seq, d]."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Rope(nn.Module):
    """The rotation angles of each position, computed in every forward pass."""

    inverse_frequency: Tensor

    def __init__(self, d: int, theta: float) -> None:
        super().__init__()
        inverse_frequency = theta ** -(torch.arange(0, d, 2) / d)
        self.register_buffer("inverse_frequency", inverse_frequency, persistent=False)

    def forward(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """positions [seq] -> cos and sin, [seq, d] each."""
        angles = positions.float()[:, None] * self.inverse_frequency.float()
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(dtype), angles.sin().to(dtype)


class Attention(nn.Module):
    """Grouped-query attention: `heads` queries share `kv_heads` keys and values. With `merged` one
    product computes all three, as in serving engines. With `ranks` this is one rank's share of the
    heads."""

    def __init__(
        self, width: int, heads: int, kv_heads: int, merged: bool = False, ranks: int = 1
    ) -> None:
        super().__init__()
        self.d = width // heads
        heads, kv_heads = heads // ranks, kv_heads // ranks
        self.rows = [heads * self.d, kv_heads * self.d, kv_heads * self.d]
        self.merged = nn.Linear(width, sum(self.rows), bias=False) if merged else None
        if not merged:
            self.query = nn.Linear(width, heads * self.d, bias=False)
            self.key = nn.Linear(width, kv_heads * self.d, bias=False)
            self.value = nn.Linear(width, kv_heads * self.d, bias=False)
        self.out = nn.Linear(heads * self.d, width, bias=False)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """x [batch, seq, width] -> the same shape.

        With a cache (keys and values, [batch, kv_heads, cached, d] each) x is the newest token:
        its key and value overwrite the last position, and it attends to the whole cache.
        """
        batch, seq, _ = x.shape
        if self.merged is None:
            q = self.query(x).view(batch, seq, -1, self.d).transpose(1, 2)
            k = self.key(x).view(batch, seq, -1, self.d).transpose(1, 2)
            v = self.value(x).view(batch, seq, -1, self.d).transpose(1, 2)
        else:
            parts = self.merged(x).split(self.rows, dim=-1)
            q, k, v = (part.view(batch, seq, -1, self.d).transpose(1, 2) for part in parts)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if cache is not None:
            cache[0][:, :, -seq:].copy_(k)
            cache[1][:, :, -seq:].copy_(v)
            k, v = cache
        y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None, enable_gqa=True)
        return self.out(y.transpose(1, 2).reshape(batch, seq, -1))


class SwiGlu(nn.Module):
    """The gated feed-forward layer of Shazeer 2020, "GLU Variants Improve Transformer". With
    `merged` one product computes gate and up."""

    def __init__(self, width: int, hidden: int, merged: bool = False) -> None:
        super().__init__()
        self.merged = nn.Linear(width, 2 * hidden, bias=False) if merged else None
        if not merged:
            self.gate = nn.Linear(width, hidden, bias=False)
            self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[..., width] -> the same shape."""
        if self.merged is not None:
            gate, up = self.merged(x).chunk(2, dim=-1)
            return self.down(F.silu(gate) * up)
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    """Pre-norm attention, then a pre-norm feed-forward layer."""

    def __init__(
        self,
        width: int,
        heads: int,
        kv_heads: int,
        feed_forward: nn.Module,
        merged: bool = False,
        ranks: int = 1,
    ) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(width, eps=1e-5)
        self.attention = Attention(width, heads, kv_heads, merged, ranks)
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.feed_forward = feed_forward

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """[batch, seq, width] -> the same shape."""
        x = x + self.attention(self.attention_norm(x), cos, sin, cache)
        return x + self.feed_forward(self.norm(x))


class Llama(nn.Module):
    """The decoder. The long-context rescaling of RoPE is left out: it costs nothing per token.

    With `ranks` it is the part of one rank in a tensor-parallel group of that size: its share of
    the heads, of `hidden` and of the vocabulary (Shoeybi et al. 2019), without the collectives.
    """

    def __init__(
        self,
        width: int = 2048,
        layers: int = 16,
        heads: int = 32,
        kv_heads: int = 8,
        hidden: int = 8192,
        vocab: int = 128256,
        theta: float = 500000.0,
        tied: bool = True,
        merged: bool = False,
        ranks: int = 1,
    ) -> None:
        super().__init__()
        for name, size in (("kv_heads", kv_heads), ("hidden", hidden), ("vocab", vocab)):
            if ranks < 1 or size % ranks:
                raise ValueError(f"ranks = {ranks} does not divide {name} = {size}: use a divisor")
        vocab, hidden = vocab // ranks, hidden // ranks
        self.vocab = vocab
        self.kv_heads = kv_heads // ranks
        self.tokens = nn.Embedding(vocab, width)
        self.rope = Rope(width // heads, theta)
        self.layers = nn.ModuleList(
            Layer(width, heads, kv_heads, SwiGlu(width, hidden, merged), merged, ranks)
            for _ in range(layers)
        )
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.head = nn.Linear(width, vocab, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.02)
        if tied:
            self.head.weight = self.tokens.weight

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
