"""Multi-head latent attention (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1, and "DeepSeek-V3
Technical Report").

Keys and values of all heads are computed from one latent vector per token. Only this vector and one
rotated key that the heads share are cached.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.sequences.llama import rotate


class LatentSizes(NamedTuple):
    """Widths of the query latent, of the key-value latent and, per head, of a key's unrotated and
    rotated parts and of a value."""

    query: int
    cached: int
    plain: int
    rotated: int
    value: int


class LatentAttention(nn.Module):
    """Attention of `heads` heads. With `merged` one product computes both latents and the rotated
    key, as in serving engines."""

    def __init__(self, width: int, heads: int, sizes: LatentSizes, merged: bool) -> None:
        super().__init__()
        self.heads, self.sizes = heads, sizes
        self.rows = [sizes.query, sizes.cached + sizes.rotated]
        products = [sum(self.rows)] if merged else self.rows
        self.down = nn.ModuleList(nn.Linear(width, rows, bias=False) for rows in products)
        self.query_norm = nn.RMSNorm(sizes.query, eps=1e-6)
        self.cached_norm = nn.RMSNorm(sizes.cached, eps=1e-6)
        key = sizes.plain + sizes.rotated
        self.query_up = nn.Linear(sizes.query, heads * key, bias=False)
        self.key_value_up = nn.Linear(sizes.cached, heads * (sizes.plain + sizes.value), bias=False)
        self.out = nn.Linear(heads * sizes.value, width, bias=False)

    def projected(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x [batch, seq, width] -> the queries' plain and rotated parts, [batch, heads, seq, …],
        and the cached numbers: latents and rotated keys, [batch, seq, cached + rotated]."""
        sizes = self.sizes
        parts = [product(x) for product in self.down]
        query, rest = parts if len(parts) > 1 else parts[0].split(self.rows, dim=-1)
        latent, key = rest.split((sizes.cached, sizes.rotated), dim=-1)
        cached = torch.cat((self.cached_norm(latent), rotate(key, cos, sin)), dim=-1)
        q = self.query_up(self.query_norm(query)).view(*x.shape[:2], self.heads, -1)
        plain, rotated = q.transpose(1, 2).split((sizes.plain, sizes.rotated), dim=-1)
        return plain, rotate(rotated, cos, sin), cached

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, cache: Tensor | None = None) -> Tensor:
        """x [batch, seq, width] -> the same shape. With a cache [batch, cached tokens, cached +
        rotated], x is the newest token, which overwrites the last position."""
        plain, rotated, cached = self.projected(x, cos, sin)
        if cache is None:
            return self.out(self._of_heads(plain, rotated, cached))
        cache[:, -1:].copy_(cached)
        return self.out(self._of_latents(plain, rotated, cache))

    def _of_heads(self, plain: Tensor, rotated: Tensor, cached: Tensor) -> Tensor:
        """The heads' outputs [batch, seq, heads · value], from keys and values of each head."""
        sizes, (batch, seq, _) = self.sizes, cached.shape
        latent, shared = cached.split((sizes.cached, sizes.rotated), dim=-1)
        both = self.key_value_up(latent).view(batch, seq, self.heads, -1).transpose(1, 2)
        keys, values = both.split((sizes.plain, sizes.value), dim=-1)
        k = torch.cat((keys, shared[:, None].expand(-1, self.heads, -1, -1)), dim=-1)
        y = F.scaled_dot_product_attention(
            torch.cat((plain, rotated), dim=-1), k, values, is_causal=True
        )
        return y.transpose(1, 2).reshape(batch, seq, -1)

    def _of_latents(self, plain: Tensor, rotated: Tensor, cache: Tensor) -> Tensor:
        """The same for one token, [batch, 1, heads · value]. The products that compute keys and
        values are moved to the queries and the outputs, so that all heads attend to the cache
        itself: one key head whose queries are the heads."""
        sizes, batch = self.sizes, cache.shape[0]
        up = self.key_value_up.weight.view(self.heads, -1, sizes.cached)
        to_keys, to_values = up.split((sizes.plain, sizes.value), dim=1)
        moved = torch.bmm(plain[:, :, 0].transpose(0, 1), to_keys)  # [heads, batch, cached]
        q = torch.cat((moved.transpose(0, 1), rotated[:, :, 0]), dim=-1)
        scale = (sizes.plain + sizes.rotated) ** -0.5
        latents = F.scaled_dot_product_attention(
            q[:, None], cache[:, None], cache[:, None, :, : sizes.cached], scale=scale
        )
        y = torch.bmm(latents[:, 0].transpose(0, 1), to_values.transpose(1, 2))
        return y.transpose(0, 1).reshape(batch, 1, -1)
