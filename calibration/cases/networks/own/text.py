"""Sequence networks as users write them by hand."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own, tokens
from simulator.networks.output import Output


class Attention(nn.Module):
    """Causal attention as two products and a softmax; the mask is a buffer."""

    def __init__(self, width: int, heads: int, longest: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        mask = torch.tril(torch.ones(longest, longest)).view(1, 1, longest, longest)
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.size()
        q, k, v = (
            each.view(batch, length, self.heads, -1).transpose(1, 2)
            for each in self.qkv(x).split(width, 2)
        )
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        mask: Any = self.mask
        scores = scores.masked_fill(mask[:, :, :length, :length] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).contiguous().view(batch, length, width))


class NanoGPT(Own):
    """A small GPT with tied weights."""

    def __init__(self, width: int = 384, layers: int = 6, heads: int = 6) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(8000, width), nn.Embedding(1024, width)
        self.blocks = nn.ModuleList(
            nn.ModuleList([
                nn.LayerNorm(width), Attention(width, heads, 1024), nn.LayerNorm(width),
                nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)),
            ]) for _ in range(layers)
        )  # fmt: skip
        self.norm = nn.LayerNorm(width)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tokens(batch, seq), tokens(batch, seq)

    def forward(self, ids: Tensor, after: Tensor) -> Any:
        x = self.token(ids) + self.place(torch.arange(ids.size(1), device=ids.device))
        for norm1, attention, norm2, mlp in self.blocks:  # pyright: ignore
            x = x + attention(norm1(x))
            x = x + mlp(norm2(x))
        scores = F.linear(self.norm(x), self.token.weight)
        if not self.training:
            return scores[:, -1]
        return Output(scores, F.cross_entropy(scores.view(-1, 8000), after.view(-1)))


class Tagger(Own):
    """A bidirectional LSTM that assigns a class to each word."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.words = nn.Embedding(20000, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True, bidirectional=True, dropout=0.1)
        self.head = nn.Linear(2 * width, 17)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tokens(batch, seq, 20000), tokens(batch, seq, 17)

    def forward(self, words: Tensor, tags: Tensor) -> Any:
        scores = self.head(self.lstm(self.words(words))[0])
        return self.result(scores, F.cross_entropy(scores.flatten(0, 1), tags.flatten()))


class LoopedExperts(Own):
    """A mixture of experts: a loop calls each expert with the tokens routed to it."""

    def __init__(self, width: int = 512, experts: int = 8, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, width)
        self.gates = nn.ModuleList(nn.Linear(width, experts) for _ in range(layers))
        self.experts = nn.ModuleList(
            nn.ModuleList(
                nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
                for _ in range(experts)
            )
            for _ in range(layers)
        )

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (tokens(batch, seq),)

    def forward(self, ids: Tensor) -> Any:
        x = self.words(ids).flatten(0, 1)
        for gate, experts in zip(self.gates, self.experts, strict=True):
            weights, chosen = gate(x).softmax(-1).topk(2, -1)
            out = torch.zeros_like(x)
            for i, expert in enumerate(experts):  # pyright: ignore
                row, place = torch.where(chosen == i)
                share = weights[row, place, None]
                out.index_add_(0, row, (expert(x[row]) * share).to(out.dtype))
            x = x + out
        return self.result(x)


class Masked(Own):
    """The parts of nn.TransformerEncoderLayer, called one by one, with a float mask."""

    def __init__(self, width: int = 512, heads: int = 8, layers: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.attend = nn.ModuleList(
            nn.MultiheadAttention(width, heads, batch_first=True) for _ in range(layers)
        )
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2048), nn.ReLU(), nn.Linear(2048, width))
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.width = width

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, seq, self.width), torch.rand(batch, seq) > 0.2

    def forward(self, x: Tensor, valid: Tensor) -> Any:
        bias = torch.zeros(valid.shape, dtype=x.dtype, device=x.device)
        bias = bias.masked_fill(~valid, -1e4)[:, None, None, :]
        mask = bias.expand(-1, self.heads, x.size(1), -1).flatten(0, 1)
        for i, (attend, mlp) in enumerate(zip(self.attend, self.mlps, strict=True)):
            x = self.norms[2 * i](x + attend(x, x, x, attn_mask=mask, need_weights=False)[0])
            x = self.norms[2 * i + 1](x + mlp(x))
        return self.result(x)


class HandNorm(nn.Module):
    """A layer norm written out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(-1, keepdim=True)
        variance = (x - mean).pow(2).mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5) * self.scale + self.shift


class Einsum(Own):
    """A vision transformer whose attention uses einsum and whose norms are written out."""

    def __init__(self, width: int = 384, heads: int = 6, layers: int = 6) -> None:
        super().__init__()
        self.heads, self.patch = heads, nn.Linear(3 * 16 * 16, width)
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(layers))
        self.mix = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(width, 8 * width) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(layers))
        self.norms = nn.ModuleList(HandNorm(width) for _ in range(2 * layers))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 3, 224, 224),)

    def forward(self, picture: Tensor) -> Any:
        patches = picture.unfold(2, 16, 16).unfold(3, 16, 16).permute(0, 2, 3, 1, 4, 5)
        x = self.patch(patches.flatten(3).flatten(1, 2))
        for i, (qkv, mix) in enumerate(zip(self.qkv, self.mix, strict=True)):
            q, k, v = qkv(self.norms[2 * i](x)).view(*x.shape[:2], 3, self.heads, -1).unbind(2)
            scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
            mixed = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)
            x = x + mix(mixed.flatten(2))
            left, gate = self.up[i](self.norms[2 * i + 1](x)).chunk(2, -1)
            x = x + self.down[i](left * F.silu(gate))
        return self.result(x.mean(1))


class CellLoop(Own):
    """Two GRU cells, called step by step along a sequence."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.words, self.width = nn.Embedding(1000, width), width
        self.first, self.second = nn.GRUCell(width, width), nn.GRUCell(width, width)
        self.head = nn.Linear(width, 1000)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (tokens(batch, seq),)

    def forward(self, ids: Tensor) -> Any:
        x = self.words(ids)
        h1 = h2 = x.new_zeros(len(ids), self.width)
        outs: list[Tensor] = []
        for t in range(ids.size(1)):
            h1 = self.first(x[:, t], h1)
            h2 = self.second(h1, h2)
            outs.append(self.head(h2))
        return self.result(torch.stack(outs, 1))


class Translator(Own):
    """A GRU encoder, and a greedy decoder that attends to it at each step."""

    def __init__(self, width: int = 256, steps: int = 16) -> None:
        super().__init__()
        self.steps = steps
        self.words, self.encoder = nn.Embedding(8000, width), nn.GRU(width, width, batch_first=True)
        self.cell = nn.GRUCell(2 * width, width)
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.score, self.head = nn.Linear(width, 1), nn.Linear(width, 8000)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (tokens(batch, seq, 8000),)

    def forward(self, ids: Tensor) -> Any:
        memory, last = self.encoder(self.words(ids))
        hidden, word, outs = last[0], ids[:, 0], list[Tensor]()
        keys = self.key(memory)
        for _ in range(self.steps):
            energy = self.score(torch.tanh(self.query(hidden)[:, None] + keys))
            context = (energy.softmax(1) * memory).sum(1)
            hidden = self.cell(torch.cat([self.words(word), context], -1), hidden)
            outs.append(self.head(hidden))
            word = outs[-1].argmax(-1)
        return self.result(torch.stack(outs, 1))


TEXT: dict[str, type[Own]] = {
    "nanogpt": NanoGPT,
    "tagger": Tagger,
    "moe-loop": LoopedExperts,
    "masked": Masked,
    "einsum-vit": Einsum,
    "gru-cells": CellLoop,
    "seq2seq": Translator,
}
"""The networks by name."""
