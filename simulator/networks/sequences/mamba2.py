"""Mamba-2: Dao and Gu 2024, "Transformers are SSMs"; the scan is its chunked matrix form."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output


def segment_sums(x: Tensor) -> Tensor:
    """[..., n] -> [..., n, n]: entry (i, j) is x[j+1] + … + x[i], and -inf for j > i.

    Each segment is summed separately, because a difference of prefix sums loses digits to
    cancellation.
    """
    n = x.shape[-1]
    ones = torch.ones(n, n, dtype=torch.bool, device=x.device)
    x = x[..., None].expand(*x.shape, n).masked_fill(~ones.tril(-1), 0.0)
    return x.cumsum(dim=-2).masked_fill(~ones.tril(), -math.inf)


def scan(x: Tensor, decay: Tensor, b: Tensor, c: Tensor, chunk: int) -> Tensor:
    """The state space dual of the paper (listing 1): attention in chunks, a state between them.

    x [batch, seq, heads, d], decay (log) [batch, seq, heads], b and c [batch, seq, n]; seq is a
    multiple of chunk -> like x.
    """
    batch, seq, heads, d = x.shape
    x = x.view(batch, -1, chunk, heads, d).transpose(2, 3)  # [batch, chunks, heads, chunk, d]
    decay = decay.view(batch, -1, chunk, heads).permute(0, 3, 1, 2)  # [batch, heads, chunks, chunk]
    b = b.view(batch, -1, chunk, b.shape[-1])
    c = c.view(batch, -1, chunk, c.shape[-1])
    total = decay.cumsum(dim=-1)

    # Inside a chunk: causal attention, weighted by the decay of the state in between.
    weights = torch.exp(segment_sums(decay)).transpose(1, 2).to(x.dtype)
    scores = torch.matmul(c, b.transpose(2, 3))[:, :, None]
    inside = torch.matmul(scores * weights, x)

    # The state at the end of each chunk, then the decayed sum of these states at each later chunk.
    left = torch.exp(total[..., -1:] - total).transpose(1, 2).to(x.dtype)
    states = torch.matmul((x * left[..., None]).transpose(3, 4), b[:, :, None])
    states = F.pad(states, (0, 0, 0, 0, 0, 0, 1, 0)).transpose(1, 2).flatten(3)
    passed = torch.exp(segment_sums(F.pad(total[..., -1], (1, 0)))).to(x.dtype)
    states = torch.matmul(passed, states)[:, :, :-1].transpose(1, 2)
    states = states.unflatten(-1, (d, b.shape[-1]))

    entered = torch.exp(total).transpose(1, 2).to(x.dtype)
    between = torch.matmul(c[:, :, None], states.transpose(3, 4)) * entered[..., None]
    return (inside + between).transpose(2, 3).reshape(batch, seq, heads, d)


class Mixer(nn.Module):
    """Projection, a short causal convolution, the scan, and a gated normalisation."""

    def __init__(self, width: int, d: int, state: int, kernel: int, chunk: int) -> None:
        super().__init__()
        self.inner = 2 * width
        self.d, self.state, self.kernel, self.chunk = d, state, kernel, chunk
        heads = self.inner // d
        mixed = self.inner + 2 * state
        self.enter = nn.Linear(width, self.inner + mixed + heads, bias=False)
        self.conv = nn.Conv1d(mixed, mixed, kernel, groups=mixed, padding=kernel - 1)
        self.dt_bias = nn.Parameter(torch.linspace(-6.9, -2.3, heads))  # steps of 0.001 to 0.1
        self.log_a = nn.Parameter(torch.log(torch.linspace(1.0, 16.0, heads)))
        self.skip = nn.Parameter(torch.ones(heads))
        self.norm = nn.RMSNorm(self.inner, eps=1e-5)
        self.leave = nn.Linear(self.inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, seq, width] -> the same shape."""
        batch, seq, _ = x.shape
        mixed = self.inner + 2 * self.state
        gate, mix, dt = self.enter(x).split((self.inner, mixed, self.inner // self.d), dim=-1)
        mix = F.silu(self.conv(mix.transpose(1, 2))[..., :seq]).transpose(1, 2)
        padding = -seq % self.chunk
        if padding:
            mix = F.pad(mix, (0, 0, 0, padding))
            dt = F.pad(dt, (0, 0, 0, padding))
        values, b, c = mix.split((self.inner, self.state, self.state), dim=-1)
        values = values.unflatten(-1, (-1, self.d))
        dt = F.softplus(dt.float() + self.dt_bias.float())
        decay = -torch.exp(self.log_a.float()) * dt
        y = scan(values * dt[..., None].to(x.dtype), decay, b, c, self.chunk)
        y = (y + values * self.skip[:, None])[:, :seq].reshape(batch, seq, -1)
        return self.leave(self.norm(y * F.silu(gate)))


class Block(nn.Module):
    """A pre-norm residual around the mixer."""

    def __init__(self, width: int, d: int, state: int, kernel: int, chunk: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.mixer = Mixer(width, d, state, kernel, chunk)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, seq, width] -> the same shape."""
        return x + self.mixer(self.norm(x))


class Mamba2(nn.Module):
    """A language model of mixers only; a sequence is padded to a multiple of `chunk`."""

    def __init__(
        self,
        width: int = 768,
        layers: int = 24,
        d: int = 64,
        state: int = 128,
        kernel: int = 4,
        chunk: int = 64,
        vocab: int = 50288,
    ) -> None:
        super().__init__()
        self.vocab = vocab
        self.tokens = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(Block(width, d, state, kernel, chunk) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.head = nn.Linear(width, vocab, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.head.weight = self.tokens.weight

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        """ids [batch, seq], then labels [batch, seq] if training."""
        ids = torch.randint(0, self.vocab, (batch, seq))
        return (ids, torch.randint(0, self.vocab, (batch, seq))) if training else (ids,)

    def forward(self, ids: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """ids [batch, seq] -> logits [batch, seq, vocab]."""
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits.float().flatten(0, 1), labels.flatten()))
