"""Further networks of tokens and patches, as users write them by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own, tokens


class RootNorm(nn.Module):
    """A root mean square norm that computes in float32."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        y = x.float()
        return self.weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


class MiniLlama(Own):
    """A decoder with rotary positions, grouped queries and gated feed-forwards."""

    def __init__(self, width: int = 768, heads: int = 12, groups: int = 4, depth: int = 8) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.embed = nn.Embedding(16000, width)
        inner = groups * self.size
        self.queries = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        self.keys = nn.ModuleList(nn.Linear(width, 2 * inner, bias=False) for _ in range(depth))
        self.outs = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        self.gates = nn.ModuleList(nn.Linear(width, 4096, bias=False) for _ in range(depth))
        self.downs = nn.ModuleList(nn.Linear(2048, width, bias=False) for _ in range(depth))
        self.norms = nn.ModuleList(RootNorm(width) for _ in range(2 * depth + 1))
        self.head = nn.Linear(width, 16000, bias=False)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (tokens(batch, seq, 16000),)

    @staticmethod
    def turned(x: Tensor, angles: Tensor) -> Tensor:
        a, b = x.float().chunk(2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)

    def forward(self, ids: Tensor) -> Any:
        h = self.embed(ids)
        n, length = ids.shape
        half = self.size // 2
        rates = 10000 ** (-torch.arange(half, device=ids.device) / half)
        angles = torch.arange(length, device=ids.device)[:, None] * rates
        for i, (query, key, out) in enumerate(zip(self.queries, self.keys, self.outs, strict=True)):
            x = self.norms[2 * i](h)
            q = query(x).view(n, length, self.heads, self.size).transpose(1, 2)
            k, v = key(x).view(n, length, 2 * self.groups, self.size).transpose(1, 2).chunk(2, 1)
            q, k = self.turned(q, angles), self.turned(k, angles)
            times = self.heads // self.groups
            k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + out(y.transpose(1, 2).reshape(n, length, -1))
            a, b = self.gates[i](self.norms[2 * i + 1](h)).chunk(2, -1)
            h = h + self.downs[i](F.silu(a) * b)
        out = self.head(self.norms[-1](h))
        loss = F.cross_entropy(out[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())
        return self.result(out, loss)


class Windows(Own):
    """Attention in shifted windows of an image, with a bias by relative position."""

    def __init__(self, width: int = 96, window: int = 8, depth: int = 6) -> None:
        super().__init__()
        self.window, self.heads = window, width // 32
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth))
        self.inputs = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))
        self.outs = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.biases = nn.Parameter(torch.zeros(depth, (2 * window - 1) ** 2, self.heads))
        self.feeds = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(depth)
        )
        at = torch.stack(torch.meshgrid(*2 * [torch.arange(window)], indexing="ij")).flatten(1)
        apart = (at[:, :, None] - at[:, None]) + window - 1
        self.register_buffer("index", apart[0] * (2 * window - 1) + apart[1])
        self.head = nn.Linear(width, 1000)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 3, 256, 256),)

    def attended(self, x: Tensor, i: int) -> Tensor:
        n, rows, columns, width = x.shape
        w = self.window
        x = x.view(n, rows // w, w, columns // w, w, width).permute(0, 1, 3, 2, 4, 5)
        x = x.reshape(-1, w * w, width)
        q, k, v = self.inputs[i](x).view(-1, w * w, 3, self.heads, 32).permute(2, 0, 3, 1, 4)
        scores = q * 32**-0.5 @ k.transpose(-2, -1)
        index: Any = self.index
        bias = self.biases[i][index.flatten()].view(w * w, w * w, -1).permute(2, 0, 1)
        y = (scores + bias).softmax(-1) @ v
        y = self.outs[i](y.transpose(1, 2).reshape(-1, w * w, width))
        y = y.view(n, rows // w, columns // w, w, w, width).permute(0, 1, 3, 2, 4, 5)
        return y.reshape(n, rows, columns, width)

    def forward(self, image: Tensor) -> Any:
        h = self.patch(image).permute(0, 2, 3, 1)
        for i, feed in enumerate(self.feeds):
            x = self.norms[2 * i](h)
            shift = self.window // 2 if i % 2 else 0
            x = torch.roll(x, (-shift, -shift), (1, 2)) if shift else x
            y = self.attended(x, i)
            h = h + (torch.roll(y, (shift, shift), (1, 2)) if shift else y)
            h = h + feed(self.norms[2 * i + 1](h))
        return self.result(self.head(h.mean((1, 2))))


class LinearAttention(Own):
    """Causal attention whose scores are products of positive features, summed in chunks."""

    def __init__(self, width: int = 512, heads: int = 8, depth: int = 6, chunk: int = 64) -> None:
        super().__init__()
        self.heads, self.chunk = heads, chunk
        self.embed = nn.Embedding(8000, width)
        self.inputs = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))
        self.outs = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.feeds = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.ReLU(),
                nn.Linear(4 * width, width),
            )
            for _ in range(depth)
        )  # fmt: skip
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.head = nn.Linear(width, 8000)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (tokens(batch, seq, 8000),)

    def forward(self, ids: Tensor) -> Any:
        h = self.embed(ids)
        n, length, width = h.shape
        c = self.chunk
        causal = torch.ones(c, c, device=h.device, dtype=h.dtype).tril()
        for norm, open_, out, feed in zip(
            self.norms, self.inputs, self.outs, self.feeds, strict=True
        ):
            parts = open_(norm(h)).view(n, length // c, c, 3, self.heads, -1)
            q, k, v = parts.permute(3, 0, 4, 1, 2, 5)
            q, k = F.elu(q) + 1, F.elu(k) + 1
            state = (k.transpose(-1, -2) @ v).cumsum(2)
            state = F.pad(state[:, :, :-1], (0, 0, 0, 0, 1, 0))
            sums = F.pad(k.sum(-2).cumsum(2)[:, :, :-1], (0, 0, 1, 0))
            scores = (q @ k.transpose(-1, -2)) * causal
            top = scores @ v + q @ state.to(v.dtype)
            below = scores.sum(-1) + (q * sums[..., None, :].to(q.dtype)).sum(-1)
            y = (top / (below[..., None] + 1e-6)).permute(0, 2, 3, 1, 4).reshape(n, length, width)
            h = h + out(y)
            h = h + feed(h)
        out = self.head(h)
        return self.result(out, F.cross_entropy(out.flatten(0, 1).float(), ids.flatten()))


class RandomField(Own):
    """A tagger with a conditional random field, whose sum runs over time in a loop."""

    def __init__(self, width: int = 256, tags: int = 17) -> None:
        super().__init__()
        self.embed = nn.Embedding(8000, width)
        self.gru = nn.GRU(width, width // 2, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(width, tags)
        self.moves = nn.Parameter(torch.randn(tags, tags))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tokens(batch, seq, 8000), torch.randint(0, 17, (batch, seq))

    def forward(self, ids: Tensor, tags: Tensor) -> Any:
        scores = self.head(self.gru(self.embed(ids))[0]).float()
        total = scores[:, 0]
        for t in range(1, ids.shape[1]):
            step = total[:, :, None] + self.moves + scores[:, t, None]
            total = torch.logsumexp(step, dim=1) if self.training else step.max(dim=1).values
        if not self.training:
            return total.argmax(-1)
        gold = scores.gather(2, tags[..., None]).sum((1, 2))
        gold = gold + self.moves[tags[:, :-1], tags[:, 1:]].sum(1)
        return self.result(total, (torch.logsumexp(total, 1) - gold).mean())


SEQUENCES: dict[str, type[Own]] = {
    "mini-llama": MiniLlama,
    "windows": Windows,
    "linear-attention": LinearAttention,
    "crf": RandomField,
}
"""The networks by name."""
