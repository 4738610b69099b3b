"""Networks for signals, texts, graphs and control, as users write them by hand."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own, tokens


class TextAttention(Own):
    """A classifier of texts: an LSTM of two directions and additive attention over its words."""

    def __init__(self, width: int = 256, vocabulary: int = 50_000) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, 300, padding_idx=0)
        self.lstm = nn.LSTM(300, width, 2, batch_first=True, bidirectional=True, dropout=0.2)
        self.attend = nn.Sequential(nn.Linear(2 * width, 128), nn.Tanh(), nn.Linear(128, 1))
        self.head = nn.Sequential(
            nn.Dropout(0.3), nn.Linear(6 * width, 64), nn.ReLU(), nn.Linear(64, 6)
        )

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tokens(batch, seq, 50_000), (torch.rand(batch, 6) < 0.1).float()

    def forward(self, ids: Tensor, labels: Tensor) -> Any:
        x = F.dropout1d(self.words(ids).transpose(1, 2), 0.2, self.training).transpose(1, 2)
        h, _ = self.lstm(x)
        padded = (ids == 0)[..., None]
        weights = F.softmax(self.attend(h).masked_fill(padded, -1e4), dim=1)
        pooled = torch.cat([(weights * h).sum(1), h.mean(1), h.amax(1)], dim=-1)
        scores = self.head(pooled)
        return self.result(scores, F.binary_cross_entropy_with_logits(scores.float(), labels))


class Heartbeats(Own):
    """A residual network over 12 leads of an electrocardiogram, with blurred strides."""

    def __init__(self, width: int = 64, blocks: int = 6, taps: int = 15) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv1d(12, width, taps, padding=taps // 2), nn.BatchNorm1d(width), nn.ReLU()
        )
        self.blocks, self.skips = nn.ModuleList(), nn.ModuleList()
        for i in range(blocks):
            outward = width + (64 if i % 2 else 0)
            self.blocks.append(nn.Sequential(
                nn.Conv1d(width, outward, taps, padding=taps // 2, bias=False),
                nn.BatchNorm1d(outward), nn.ReLU(), nn.Dropout(0.2),
                nn.Conv1d(outward, outward, taps, 4 if i % 2 else 1, taps // 2, bias=False),
                nn.BatchNorm1d(outward),
            ))  # fmt: skip
            self.skips.append(nn.Sequential(
                nn.MaxPool1d(4, ceil_mode=True) if i % 2 else nn.Identity(),
                nn.Conv1d(width, outward, 1, bias=False),
            ))  # fmt: skip
            width = outward
        self.head = nn.Linear(2 * width, 27)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 12, seq), (torch.rand(batch, 27) < 0.1).float()

    def forward(self, x: Tensor, labels: Tensor) -> Any:
        x = self.stem(x)
        for block, skip in zip(self.blocks, self.skips, strict=True):
            x = F.relu(block(x) + skip(x))
        scores = self.head(torch.cat([x.mean(-1), x.amax(-1)], dim=1))
        return self.result(scores, F.binary_cross_entropy_with_logits(scores.float(), labels))


class ConditionedBlock(nn.Module):
    """Two one-dimensional convolutions; the condition scales and shifts between them."""

    def __init__(self, inward: int, outward: int, condition: int) -> None:
        super().__init__()
        self.first, self.second = (
            nn.Sequential(nn.Conv1d(a, outward, 5, padding=2), nn.GroupNorm(8, outward), nn.Mish())
            for a in (inward, outward)
        )
        self.condition = nn.Sequential(nn.Mish(), nn.Linear(condition, 2 * outward))
        self.skip = nn.Conv1d(inward, outward, 1) if inward != outward else nn.Identity()

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        scale, shift = self.condition(condition)[..., None].chunk(2, dim=1)
        return self.second(scale * self.first(x) + shift) + self.skip(x)


class ActionDiffusion(Own):
    """Diffusion policy: a one-dimensional U-Net removes noise from a robot's next actions."""

    def __init__(self, width: int = 128, actions: int = 7, seen: int = 128) -> None:
        super().__init__()
        self.actions, self.seen = actions, seen
        widths, condition = (actions, width, 2 * width, 4 * width), 128 + seen
        self.time = nn.Sequential(nn.Linear(128, 512), nn.Mish(), nn.Linear(512, 128))

        def pair(inward: int, outward: int) -> nn.ModuleList:
            return nn.ModuleList(ConditionedBlock(a, outward, condition) for a in (inward, outward))

        self.down = nn.ModuleList(pair(a, b) for a, b in pairwise(widths))
        self.middle = pair(widths[-1], widths[-1])
        self.up = nn.ModuleList(
            pair(2 * b, a) for a, b in [(2 * width, 4 * width), (width, 2 * width)]
        )
        self.lower = nn.ModuleList(nn.Conv1d(w, w, 3, 2, 1) for w in widths[1:3])
        self.raiser = nn.ModuleList(nn.ConvTranspose1d(w, w, 4, 2, 1) for w in widths[2:0:-1])
        self.head = nn.Sequential(
            nn.Conv1d(width, width, 5, padding=2), nn.GroupNorm(8, width), nn.Mish(),
            nn.Conv1d(width, actions, 1),
        )  # fmt: skip
        self.register_buffer("signal_shares", torch.linspace(0.999, 0.01, 100).cumprod(0))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, seq, self.actions), self.random(batch, self.seen)

    def forward(self, actions: Tensor, seen: Tensor) -> Any:
        shares: Any = self.signal_shares
        noise = torch.randn_like(actions)
        step = torch.randint(0, 100, (len(actions),), device=actions.device)
        share = shares[step][:, None, None]
        x = (share.sqrt() * actions + (1 - share).sqrt() * noise).transpose(1, 2)
        rates = torch.exp(torch.arange(64, device=x.device) * -(math.log(10000) / 63))
        angles = step[:, None] * rates[None]
        time = self.time(torch.cat([angles.sin(), angles.cos()], -1).to(x.dtype))
        condition = torch.cat([time, seen.to(time.dtype)], dim=-1)
        skips: list[Tensor] = []
        for i, (first, second) in enumerate(self.down):  # pyright: ignore
            x = second(first(x, condition), condition)
            skips.append(x)
            x = self.lower[i](x) if i < len(self.lower) else x
        for block in self.middle:
            x = block(x, condition)
        for raiser, (first, second) in zip(self.raiser, self.up, strict=True):  # pyright: ignore
            x = second(first(torch.cat([x, skips.pop()], 1), condition), condition)
            x = raiser(x)
        out = self.head(x).transpose(1, 2)
        return self.result(out, F.mse_loss(out, noise))


class ResidualCodec(Own):
    """A codec of sound: strided convolutions, eight residual codebooks, and the way back."""

    def __init__(self, width: int = 32, codebooks: int = 8) -> None:
        super().__init__()
        rates = (2, 4, 5, 8)
        encoder: list[nn.Module] = [nn.Conv1d(1, width, 7, padding=3)]
        for rate in rates:
            encoder += [
                self.residual(width), nn.ELU(),
                nn.Conv1d(width, 2 * width, 2 * rate, rate, math.ceil(rate / 2)),
            ]  # fmt: skip
            width *= 2
        decoder: list[nn.Module] = [nn.Conv1d(128, width, 7, padding=3)]
        self.encoder = nn.Sequential(*encoder, nn.ELU(), nn.Conv1d(width, 128, 3, padding=1))
        for rate in rates[::-1]:
            decoder += [
                nn.ELU(),
                nn.ConvTranspose1d(
                    width, width // 2, 2 * rate, rate, math.ceil(rate / 2), rate % 2
                ),
                self.residual(width // 2),
            ]  # fmt: skip
            width //= 2
        self.decoder = nn.Sequential(*decoder, nn.ELU(), nn.Conv1d(width, 1, 7, padding=3))
        self.codes = nn.ParameterList(
            nn.Parameter(torch.randn(1024, 128)) for _ in range(codebooks)
        )

    @staticmethod
    def residual(width: int) -> nn.Module:
        class Residual(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layers = nn.Sequential(
                    nn.ELU(), nn.Conv1d(width, width // 2, 3, padding=1), nn.ELU(),
                    nn.Conv1d(width // 2, width, 1),
                )  # fmt: skip

            def forward(self, x: Tensor) -> Tensor:
                return x + self.layers(x)

        return Residual()

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 1, seq),)

    def forward(self, sound: Tensor) -> Any:
        z = self.encoder(sound).transpose(1, 2)
        rest, total, loss = z, torch.zeros_like(z), z.new_zeros(())
        for codes in self.codes:
            flat = rest.reshape(-1, 128)
            apart = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ codes.T + codes.pow(2).sum(1)
            nearest = F.embedding(apart.argmin(1), codes).view_as(rest)
            loss = loss + F.mse_loss(rest, nearest.detach()) * 0.25
            loss = loss + F.mse_loss(nearest, rest.detach())
            nearest = rest + (nearest - rest).detach()
            total, rest = total + nearest, rest - nearest
        out = self.decoder(total.transpose(1, 2))
        if self.training:
            loss = loss + F.l1_loss(out, sound)
            for size in (512, 1024):
                window = torch.hann_window(size, device=out.device)
                spectra = [
                    torch.stft(
                        s.float().squeeze(1), size, size // 4, window=window, return_complex=True
                    ).abs()
                    for s in (out, sound)
                ]
                loss = loss + F.l1_loss(spectra[0], spectra[1])
        return self.result(out, loss)


class Isomorphism(Own):
    """GIN: sums over neighbours, an MLP with batch norms, and sums over each graph."""

    def __init__(self, width: int = 300, layers: int = 5) -> None:
        super().__init__()
        self.atoms, self.bonds = nn.Embedding(120, width), nn.ModuleList()
        self.mlps, self.norms = nn.ModuleList(), nn.ModuleList()
        for _ in range(layers):
            self.bonds.append(nn.Embedding(6, width))
            self.mlps.append(nn.Sequential(
                nn.Linear(width, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU(),
                nn.Linear(2 * width, width),
            ))  # fmt: skip
            self.norms.append(nn.BatchNorm1d(width))
        self.eps = nn.Parameter(torch.zeros(layers))
        self.head = nn.Linear(width, 1)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        graph = torch.arange(25 * batch) // 25
        source, target = (
            torch.arange(batch).repeat_interleave(54) * 25 + torch.randint(0, 25, (54 * batch,))
            for _ in range(2)
        )
        atoms, bonds = torch.randint(0, 120, (25 * batch,)), torch.randint(0, 6, (54 * batch,))
        return atoms, bonds, torch.stack([source, target]), graph, (torch.rand(batch) < 0.1).float()

    def forward(
        self, atoms: Tensor, bonds: Tensor, edges: Tensor, graph: Tensor, labels: Tensor
    ) -> Any:
        x = self.atoms(atoms)
        for i, (bond, mlp, norm) in enumerate(zip(self.bonds, self.mlps, self.norms, strict=True)):
            messages = F.relu(x[edges[0]] + bond(bonds))
            total = torch.zeros_like(x).index_add_(0, edges[1], messages)
            h = norm(mlp((1 + self.eps[i]) * x + total))
            x = x + F.dropout(F.relu(h), 0.5, self.training)
        pooled = x.new_zeros(len(labels), x.shape[1]).index_add_(0, graph, x)
        scores = self.head(pooled).squeeze(-1)
        return self.result(scores, F.binary_cross_entropy_with_logits(scores, labels))


SIGNALS: dict[str, type[Own]] = {
    "text-attention": TextAttention,
    "heartbeats": Heartbeats,
    "action-diffusion": ActionDiffusion,
    "residual-codec": ResidualCodec,
    "isomorphism": Isomorphism,
}
"""By name."""
