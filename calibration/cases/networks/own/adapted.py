"""Decoders as users adapt and serve them by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own, tokens
from simulator.networks.output import Output


class LoRALinear(nn.Module):
    """A frozen linear layer with a trained correction of low rank."""

    def __init__(self, inward: int, outward: int, rank: int = 16) -> None:
        super().__init__()
        self.base = nn.Linear(inward, outward)
        self.base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, inward) * 0.01)
        self.up = nn.Parameter(torch.zeros(outward, rank))
        self.dropout = nn.Dropout(0.05)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + 2.0 * F.linear(F.linear(self.dropout(x), self.down), self.up)


class LoRA(Own):
    """A frozen decoder of which only corrections of low rank are trained."""

    def __init__(self, width: int = 1024, layers: int = 6, heads: int = 16) -> None:
        super().__init__()
        self.heads = heads
        self.words = nn.Embedding(32000, width)
        self.words.requires_grad_(False)
        self.blocks = nn.ModuleList(
            nn.ModuleDict({
                "norm1": nn.LayerNorm(width), "q": LoRALinear(width, width),
                "k": nn.Linear(width, width), "v": LoRALinear(width, width),
                "o": nn.Linear(width, width), "norm2": nn.LayerNorm(width),
                "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width),
            }) for _ in range(layers)
        )  # fmt: skip
        for block in self.blocks:
            for name in ("norm1", "k", "o", "norm2", "up", "down"):
                block[name].requires_grad_(False)  # pyright: ignore
        self.norm = nn.LayerNorm(width)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tokens(batch, seq), tokens(batch, seq)

    def forward(self, ids: Tensor, after: Tensor) -> Any:
        x = self.words(ids)
        batch, length, width = x.shape
        for block in self.blocks:
            parts: Any = block
            y = parts["norm1"](x)
            q, k, v = (
                parts[name](y).view(batch, length, self.heads, -1).transpose(1, 2) for name in "qkv"
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + parts["o"](y.transpose(1, 2).reshape(batch, length, width))
            x = x + parts["down"](F.gelu(parts["up"](parts["norm2"](x))))
        scores = self.norm(x) @ self.words.weight.T
        if not self.training:
            return scores[:, -1].argmax(-1)
        return Output(scores, F.cross_entropy(scores.float().flatten(0, 1), after.flatten()))


class RelativeBias(Own):
    """An encoder with T5's biases: a table of buckets of distances, added to the scores."""

    def __init__(self, width: int = 512, layers: int = 6, heads: int = 8) -> None:
        super().__init__()
        self.heads = heads
        self.words = nn.Embedding(32000, width)
        self.table = nn.Embedding(32, heads)
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(width, 8 * width, bias=False) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(4 * width, width, bias=False) for _ in range(layers))
        self.norms = nn.ParameterList(nn.Parameter(torch.ones(width)) for _ in range(2 * layers))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (tokens(batch, seq),)

    def bias(self, length: int, device: torch.device) -> Tensor:
        places = torch.arange(length, device=device)
        distance = places[None, :] - places[:, None]
        side = (distance > 0).long() * 16
        far = distance.abs()
        logarithmic = 8 + (torch.log(far.float() / 8) / 2.77 * 8).long()
        bucket = side + torch.where(far < 8, far, logarithmic.clamp(max=15))
        return self.table(bucket).permute(2, 0, 1).unsqueeze(0)

    def forward(self, ids: Tensor) -> Any:
        x = self.words(ids)
        batch, length, width = x.shape
        bias = self.bias(length, ids.device)
        for layer, (qkv, out, up, down) in enumerate(
            zip(self.qkv, self.out, self.up, self.down, strict=True)
        ):
            y = F.rms_norm(x, (width,), self.norms[2 * layer])
            q, k, v = qkv(y).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype), scale=1.0)
            x = x + out(y.transpose(1, 2).reshape(batch, length, width))
            gate, value = up(F.rms_norm(x, (width,), self.norms[2 * layer + 1])).chunk(2, -1)
            x = x + down(F.gelu(gate, approximate="tanh") * value)
        return self.result(x)


class CachedDecoder(Own):
    """Eight words generated one after another; keys and values are appended to lists of tensors."""

    def __init__(self, width: int = 768, layers: int = 6, heads: int = 12) -> None:
        super().__init__()
        self.heads = heads
        self.words = nn.Embedding(32000, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(layers)
        )

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (tokens(batch, seq),)

    def step(self, ids: Tensor, cache: list[Any]) -> Tensor:
        x = self.words(ids)
        batch, length, width = x.shape
        for layer in range(len(self.qkv)):
            qkv = self.qkv[layer](self.norms[2 * layer](x))
            q, k, v = (
                each.view(batch, length, self.heads, -1).transpose(1, 2)
                for each in qkv.chunk(3, dim=-1)
            )
            if cache[layer] is not None:
                k = torch.cat([cache[layer][0], k], dim=2)
                v = torch.cat([cache[layer][1], v], dim=2)
            cache[layer] = (k, v)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
            x = x + self.out[layer](y.transpose(1, 2).reshape(batch, length, width))
            x = x + self.mlp[layer](self.norms[2 * layer + 1](x))
        return (x[:, -1] @ self.words.weight.t()).argmax(-1, keepdim=True)

    def forward(self, ids: Tensor) -> Any:
        cache: list[Any] = [None] * len(self.qkv)
        written = [self.step(ids, cache)]
        for _ in range(7):
            written.append(self.step(written[-1], cache))
        return torch.cat(written, dim=1)


ADAPTED: dict[str, type[Own]] = {
    "lora": LoRA,
    "relative-bias": RelativeBias,
    "cached-decoder": CachedDecoder,
}
"""By name."""
