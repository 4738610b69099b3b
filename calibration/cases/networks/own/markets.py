"""Networks for recommendations, tables and forecasts, as users write them by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own


class TwoTowers(Own):
    """Users and items in two towers; the other items of the batch are the negatives."""

    def __init__(self, width: int = 128, items: int = 200_000) -> None:
        super().__init__()
        self.items = items
        self.history = nn.EmbeddingBag(items, width, mode="mean")
        self.item = nn.Embedding(items, width)
        self.country, self.genre = nn.Embedding(200, 32), nn.Embedding(500, 32)
        self.user_tower, self.item_tower = (
            nn.Sequential(
                nn.Linear(width + 32, 512), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 256),
                nn.ReLU(), nn.Linear(256, width),
            )
            for _ in range(2)
        )  # fmt: skip

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        bags = torch.randint(0, self.items, (batch * seq,)), torch.arange(batch) * seq
        country, item = torch.randint(0, 200, (batch,)), torch.randint(0, self.items, (batch,))
        return *bags, country, item, torch.randint(0, 500, (batch,))

    def forward(
        self, watched: Tensor, starts: Tensor, country: Tensor, item: Tensor, genre: Tensor
    ) -> Any:
        user = torch.cat([self.history(watched, starts), self.country(country)], dim=1)
        goods = torch.cat([self.item(item), self.genre(genre)], dim=1)
        user = F.normalize(self.user_tower(user), dim=1)
        goods = F.normalize(self.item_tower(goods), dim=1)
        scores = user @ goods.T / 0.05
        if not self.training:
            return scores.topk(min(100, len(item)), dim=1)
        return self.result(scores, F.cross_entropy(scores, torch.arange(len(item)).to(item.device)))


class Crosses(Own):
    """DCN-v2: crosses of low rank beside a deep network, 26 categories and 13 numbers."""

    def __init__(self, width: int = 16, crosses: int = 3, rows: int = 100_000) -> None:
        super().__init__()
        self.rows = rows
        inward = 26 * width + 13
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(26))
        self.v = nn.ModuleList(nn.Linear(inward, 64, bias=False) for _ in range(crosses))
        self.u = nn.ModuleList(nn.Linear(64, inward) for _ in range(crosses))
        layers: list[nn.Module] = []
        before = inward
        for _ in range(3):
            layers += [nn.Linear(before, 1024), nn.BatchNorm1d(1024), nn.ReLU(), nn.Dropout(0.2)]
            before = 1024
        self.deep = nn.Sequential(*layers)
        self.head = nn.Linear(inward + 1024, 1)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        clicked = (torch.rand(batch) < 0.25).float()
        return torch.randint(0, self.rows, (batch, 26)), self.random(batch, 13), clicked

    def forward(self, kinds: Tensor, numbers: Tensor, clicked: Tensor) -> Any:
        parts = [table(kinds[:, i]) for i, table in enumerate(self.tables)]
        numbers = torch.sign(numbers) * torch.log1p(numbers.abs())
        first = torch.cat([*parts, numbers], dim=1)
        x = first
        for u, v in zip(self.u, self.v, strict=True):
            x = first * u(v(x)) + x
        scores = self.head(torch.cat([x, self.deep(first)], dim=1)).squeeze(1)
        if not self.training:
            return torch.sigmoid(scores)
        return self.result(scores, F.binary_cross_entropy_with_logits(scores.float(), clicked))


class FeatureTokens(Own):
    """FT-Transformer: each column of a table is a word, numbers by a scale and a bias each."""

    def __init__(self, width: int = 192, layers: int = 3, numbers: int = 40) -> None:
        super().__init__()
        self.numbers = numbers
        self.weight, self.bias = (nn.Parameter(torch.randn(numbers, width) * 0.1) for _ in "ab")
        self.kinds = nn.Embedding(12 * 50, width)
        self.register_buffer("starts", torch.arange(12) * 50)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.attend = nn.ModuleList(
            nn.MultiheadAttention(width, 8, 0.2, batch_first=True) for _ in range(layers)
        )
        self.up = nn.ModuleList(nn.Linear(width, 2 * 256) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(256, width) for _ in range(layers))
        self.head = nn.Linear(width, 1)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        kinds = torch.randint(0, 50, (batch, 12))
        return self.random(batch, self.numbers), kinds, self.random(batch)

    def forward(self, numbers: Tensor, kinds: Tensor, goal: Tensor) -> Any:
        starts: Any = self.starts
        x = numbers[..., None] * self.weight + self.bias
        x = torch.cat([self.first.expand(len(x), -1, -1), x, self.kinds(kinds + starts)], 1)
        for i in range(len(self.attend)):
            y = self.norms[2 * i](x)
            y, _ = self.attend[i](y, y, y, need_weights=False)
            x = x + y
            value, gate = self.up[i](self.norms[2 * i + 1](x)).chunk(2, dim=-1)
            x = x + self.down[i](F.dropout(value * F.relu(gate), 0.1, self.training))
        out = self.head(F.relu(self.norms[-1](x[:, 0]))).squeeze(-1)
        return self.result(out, F.mse_loss(out, goal))


class BasisSeries(Own):
    """N-BEATS: blocks that forecast, and subtract what they explain of the past."""

    def __init__(
        self, width: int = 512, blocks: int = 12, past: int = 336, ahead: int = 96
    ) -> None:
        super().__init__()
        self.past, self.ahead = past, ahead
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Linear(past, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                nn.Linear(width, past + ahead),
            )
            for _ in range(blocks)
        )  # fmt: skip

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, self.past), self.random(batch, self.ahead)

    def forward(self, series: Tensor, after: Tensor) -> Any:
        rest, forecast = series, series.new_zeros(len(series), self.ahead)
        for block in self.blocks:
            back, ahead = block(rest).split([self.past, self.ahead], dim=-1)
            rest, forecast = rest - back, forecast + ahead
        error = 200 * (forecast - after).abs() / (forecast.abs() + after.abs() + 1e-6).detach()
        return self.result(forecast, error.mean())


class AutoCorrelation(Own):
    """Autoformer's encoder: delays found by the Fourier transform, trends by moving means."""

    def __init__(self, width: int = 256, layers: int = 3, heads: int = 8, ahead: int = 96) -> None:
        super().__init__()
        self.heads, self.ahead = heads, ahead
        self.embed = nn.Conv1d(7, width, 3, padding=1, padding_mode="circular", bias=False)
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.up = nn.ModuleList(nn.Conv1d(width, 4 * width, 1, bias=False) for _ in range(layers))
        self.down = nn.ModuleList(nn.Conv1d(4 * width, width, 1, bias=False) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 7)
        self.time = nn.Linear(192, ahead)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 192, 7), self.random(batch, self.ahead, 7)

    @staticmethod
    def trend(x: Tensor, taps: int = 25) -> Tensor:
        edge = (taps - 1) // 2
        x = torch.cat([x[:, :1].repeat(1, edge, 1), x, x[:, -1:].repeat(1, edge, 1)], dim=1)
        return F.avg_pool1d(x.transpose(1, 2), taps, 1).transpose(1, 2)

    def correlate(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        length = q.shape[-1]
        product = torch.fft.rfft(q.float()) * torch.conj(torch.fft.rfft(k.float()))
        mean = torch.fft.irfft(product, n=length).mean((1, 2))
        weights, delay = mean.topk(5, dim=-1)
        weights = F.softmax(weights, dim=-1).to(v.dtype)
        at = torch.arange(length, device=v.device)
        twice = torch.cat([v, v], dim=-1)
        y = torch.zeros_like(v)
        for i in range(5):
            index = (at + delay[:, i, None])[:, None, None].expand_as(v)
            y = y + twice.gather(-1, index) * weights[:, i, None, None, None]
        return y

    def forward(self, x: Tensor, after: Tensor) -> Any:
        mean = self.trend(x)
        h = self.embed((x - mean).transpose(1, 2)).transpose(1, 2)
        batch, length, width = h.shape
        for qkv, out, up, down in zip(self.qkv, self.out, self.up, self.down, strict=True):
            parts = qkv(h).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 4, 1)
            y = self.correlate(*parts.unbind(0)).permute(0, 3, 1, 2).reshape(batch, length, width)
            h = h + F.dropout(out(y), 0.05, self.training)
            h = h - self.trend(h)
            y = down(F.gelu(up(h.transpose(1, 2)))).transpose(1, 2)
            h = h + F.dropout(y, 0.05, self.training)
            h = h - self.trend(h)
        season = self.head(self.norm(h)) + mean
        out = self.time(season.transpose(1, 2)).transpose(1, 2)
        return self.result(out, F.mse_loss(out, after))


MARKETS: dict[str, type[Own]] = {
    "two-towers": TwoTowers,
    "crosses": Crosses,
    "feature-tokens": FeatureTokens,
    "basis-series": BasisSeries,
    "autocorrelation": AutoCorrelation,
}
"""By name."""
