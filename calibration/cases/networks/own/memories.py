"""Language models with memories, caches, shared weights and experts, as users write them."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own, tokens
from simulator.networks.output import Output


class RecurrentMemory(Own):
    """Transformer-XL: relative positions by a shifted product, and states of the last segment."""

    def __init__(self, width: int = 512, layers: int = 6, heads: int = 8) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.words = nn.Embedding(20000, width)
        self.q, self.kv, self.relative, self.out = (
            nn.ModuleList(nn.Linear(width, n * width, bias=False) for _ in range(layers))
            for n in (1, 2, 1, 1)
        )
        self.u, self.v = (nn.Parameter(torch.zeros(heads, width // heads)) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.feed = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Dropout(0.1),
                          nn.Linear(4 * width, width), nn.Dropout(0.1))
            for _ in range(layers)
        )  # fmt: skip

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        memory = self.random(len(self.q), batch, seq, self.width)
        return tokens(batch, seq), memory, tokens(batch, seq)

    @staticmethod
    def shift(x: Tensor) -> Tensor:
        batch, heads, rows, columns = x.shape
        x = torch.cat([x.new_zeros(batch, heads, rows, 1), x], dim=-1)
        return x.view(batch, heads, columns + 1, rows)[:, :, 1:].view(batch, heads, rows, columns)

    def forward(self, ids: Tensor, memory: Tensor, after: Tensor) -> Any:
        x = self.words(ids) * math.sqrt(self.width)
        batch, length, width = x.shape
        total = length + memory.shape[2]
        rates = 1 / 10000 ** (torch.arange(0, width, 2, device=x.device) / width)
        angles = torch.arange(total - 1, -1, -1, device=x.device)[:, None] * rates
        places = torch.cat([angles.sin(), angles.cos()], -1).to(x.dtype)
        future = torch.ones(length, total, device=x.device, dtype=torch.bool).triu(
            1 + memory.shape[2]
        )
        states: list[Tensor] = []
        for i, feed in enumerate(self.feed):
            states.append(x.detach())
            both = torch.cat([memory[i], x], dim=1)
            q = self.q[i](x).view(batch, length, self.heads, -1)
            k, v = self.kv[i](both).view(batch, total, 2, self.heads, -1).unbind(2)
            r = self.relative[i](places).view(total, self.heads, -1)
            content = torch.einsum("bqhd,bkhd->bhqk", q + self.u, k)
            position = self.shift(torch.einsum("bqhd,khd->bhqk", q + self.v, r))
            scores = (content + position) / math.sqrt(width // self.heads)
            weights = F.softmax(scores.masked_fill(future, float("-inf")), dim=-1)
            weights = F.dropout(weights, 0.1, self.training)
            y = torch.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width)
            x = self.norms[2 * i](x + self.out[i](y))
            x = self.norms[2 * i + 1](x + feed(x))
        scores = F.linear(x, self.words.weight)
        if not self.training:
            return scores[:, -1], torch.stack(states)
        return Output(scores, F.cross_entropy(scores.flatten(0, 1), after.flatten()))


class SharedLayers(Own):
    """ALBERT: one layer applied many times, narrow embeddings, masked words as the loss."""

    def __init__(self, width: int = 768, repeats: int = 12, heads: int = 12) -> None:
        super().__init__()
        self.heads, self.repeats = heads, repeats
        self.words, self.places = nn.Embedding(30000, 128), nn.Embedding(512, 128)
        self.kinds = nn.Embedding(2, 128)
        self.norm, self.widen = nn.LayerNorm(128, eps=1e-12), nn.Linear(128, width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = (nn.LayerNorm(width, eps=1e-12) for _ in range(2))
        self.transform, self.last_norm = nn.Linear(width, 128), nn.LayerNorm(128, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(30000))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tokens(batch, seq), torch.ones(batch, seq), tokens(batch, seq, 30000)

    def layer(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part(x).view(batch, length, self.heads, -1).permute(0, 2, 1, 3)
            for part in (self.q, self.k, self.v)
        )
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(width // self.heads) + mask
        y = torch.matmul(F.dropout(F.softmax(scores, dim=-1), 0.1, self.training), v)
        y = y.permute(0, 2, 1, 3).contiguous().view(batch, length, width)
        x = self.norm1(x + F.dropout(self.o(y), 0.1, self.training))
        return self.norm2(x + self.down(F.gelu(self.up(x), approximate="tanh")))

    def forward(self, ids: Tensor, present: Tensor, labels: Tensor) -> Any:
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.words(ids) + self.places(places) + self.kinds(torch.zeros_like(ids))
        x = self.widen(self.norm(x))
        mask = ((1.0 - present[:, None, None, :]) * -10000.0).to(x.dtype)
        for _ in range(self.repeats):
            x = self.layer(x, mask)
        h = self.last_norm(F.gelu(self.transform(x), approximate="tanh"))
        scores = F.linear(h, self.words.weight, self.bias)
        return self.result(scores, F.cross_entropy(scores.view(-1, 30000), labels.view(-1)))


class Retention(Own):
    """RetNet in its parallel form: products that decay with distance, rotations, group norms."""

    def __init__(self, width: int = 768, layers: int = 6, heads: int = 6) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.words = nn.Embedding(32000, width)
        self.qkvg = nn.ModuleList(nn.Linear(width, 6 * width, bias=False) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(2 * width, width, bias=False) for _ in range(layers))
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2 * layers + 1))
        self.feed1 = nn.ModuleList(nn.Linear(width, 4 * width, bias=False) for _ in range(layers))
        self.feed2 = nn.ModuleList(nn.Linear(2 * width, width, bias=False) for _ in range(layers))
        self.head = nn.Linear(width, 32000, bias=False)
        self.register_buffer("decay", torch.log(1 - 2.0 ** (-5 - torch.arange(heads).float())))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tokens(batch, seq), tokens(batch, seq)

    @staticmethod
    def rotate(x: Tensor, sin: Tensor, cos: Tensor) -> Tensor:
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
        return x * cos + turned * sin

    def forward(self, ids: Tensor, after: Tensor) -> Any:
        x = self.words(ids)
        batch, length, width = x.shape
        decay: Any = self.decay
        at = torch.arange(length, device=x.device).float()
        apart = at[:, None] - at[None, :]
        mask = torch.exp(apart * decay.float()[:, None, None])
        mask = mask.masked_fill(apart < 0, 0.0)
        mask = (mask / mask.sum(-1, keepdim=True).sqrt()).to(x.dtype)
        size = width // self.heads
        rates = 1.0 / 10000 ** torch.linspace(0, 1, size // 2, device=x.device)
        angles = at[:, None] * rates.repeat_interleave(2)
        sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)
        for i in range(len(self.out)):
            parts = self.qkvg[i](self.norms[2 * i](x)).split(
                [width, width, 2 * width, 2 * width], -1
            )
            q, k, v = (
                part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts[:3]
            )
            q, k = self.rotate(q, sin, cos), self.rotate(k * size**-0.5, sin, cos)
            scores = q @ k.transpose(-1, -2) * mask
            scores = scores / scores.detach().sum(-1, keepdim=True).abs().clamp(min=1)
            y = (scores @ v).transpose(1, 2)
            y = F.rms_norm(y, y.shape[-1:]).reshape(batch, length, 2 * width)
            x = x + self.out[i](F.silu(parts[3]) * y)
            gate, value = self.feed1[i](self.norms[2 * i + 1](x)).chunk(2, -1)
            x = x + self.feed2[i](F.silu(gate) * value)
        x = self.norms[-1](x)
        if not self.training:
            return self.head(x[:, -1])
        scores = self.head(x)
        return Output(scores, F.cross_entropy(scores.float().flatten(0, 1), after.flatten()))


class StaticCache(Own):
    """One word more for each prompt: keys and values are written to buffers of full length."""

    def __init__(
        self, width: int = 2048, layers: int = 8, heads: int = 16, full: int = 2048
    ) -> None:
        super().__init__()
        self.heads, self.full, self.shared = heads, full, 4
        self.size = width // heads
        self.words = nn.Embedding(32000, width)
        inward = (heads + 2 * self.shared) * self.size
        self.qkv = nn.ModuleList(nn.Linear(width, inward, bias=False) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.gate, self.up = (
            nn.ModuleList(nn.Linear(width, 5632, bias=False) for _ in range(layers)) for _ in "ab"
        )
        self.down = nn.ModuleList(nn.Linear(5632, width, bias=False) for _ in range(layers))
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2 * layers + 1))
        self.head = nn.Linear(width, 32000, bias=False)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        sizes = (len(self.qkv), batch, self.shared, self.full, self.size)
        return tokens(batch, 1), torch.tensor([seq]), self.random(*sizes), self.random(*sizes)

    def rope(self, x: Tensor, place: Tensor) -> Tensor:
        half = self.size // 2
        rates = 10000 ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
        angles = place.float()[:, None] * rates
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    def forward(self, ids: Tensor, place: Tensor, keys: Tensor, values: Tensor) -> Any:
        x = self.words(ids)
        batch = len(ids)
        mask = torch.arange(self.full, device=ids.device)[None, :] <= place[:, None]
        for i in range(len(self.qkv)):
            heads = self.qkv[i](self.norms[2 * i](x)).view(batch, 1, -1, self.size).transpose(1, 2)
            q, k, v = heads.split([self.heads, self.shared, self.shared], dim=1)
            keys[i].index_copy_(2, place, self.rope(k, place))
            values[i].index_copy_(2, place, v)
            repeats = self.heads // self.shared
            k, v = (c[i].repeat_interleave(repeats, dim=1) for c in (keys, values))
            y = F.scaled_dot_product_attention(self.rope(q, place), k, v, attn_mask=mask)
            x = x + self.out[i](y.transpose(1, 2).reshape(batch, 1, -1))
            h = self.norms[2 * i + 1](x)
            x = x + self.down[i](F.silu(self.gate[i](h)) * self.up[i](h))
        scores = self.head(self.norms[-1](x))[:, -1].float()
        best, index = scores.topk(50, dim=-1)
        chances = F.softmax(best / 0.8, dim=-1)
        drawn = (chances / torch.empty_like(chances).exponential_(1)).argmax(-1, keepdim=True)
        return index.gather(-1, drawn)


MEMORIES: dict[str, type[Own]] = {
    "recurrent-memory": RecurrentMemory,
    "shared-layers": SharedLayers,
    "retention": Retention,
    "static-cache": StaticCache,
}
"""By name."""
