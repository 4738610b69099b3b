"""Networks for sounds and long sequences, as users write them by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from calibration.cases.networks.own.network import Own


class WaveNet(Own):
    """Dilated causal convolutions with gates and skip connections."""

    def __init__(self, width: int = 64, skip: int = 256, depth: int = 20) -> None:
        super().__init__()
        self.embed = nn.Embedding(256, width)
        self.dilations = [2 ** (i % 10) for i in range(depth)]
        self.gates = nn.ModuleList(
            nn.Conv1d(width, 2 * width, 2, dilation=d) for d in self.dilations
        )
        self.back = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in self.dilations)
        self.skips = nn.ModuleList(nn.Conv1d(width, skip, 1) for _ in self.dilations)
        self.head = nn.Sequential(
            nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, 256, 1)
        )

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (torch.randint(0, 256, (batch, seq)),)

    def forward(self, samples: Tensor) -> Any:
        h = self.embed(samples).transpose(1, 2)
        total: Tensor | float = 0.0
        for d, gate, back, skip in zip(
            self.dilations, self.gates, self.back, self.skips, strict=True
        ):
            a, b = gate(F.pad(h, (d, 0))).chunk(2, dim=1)
            z = torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(z)
            h = h + back(z)
        out = self.head(total)
        return self.result(out, F.cross_entropy(out[..., :-1].float(), samples[:, 1:]))


class ConformerBlock(nn.Module):
    """Half a feed-forward, attention, a depthwise convolution, and the other half."""

    def __init__(self, width: int, heads: int, taps: int = 31) -> None:
        super().__init__()
        self.first, self.last = self._feed(width), self._feed(width)
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.before = nn.LayerNorm(width)
        self.open = nn.Conv1d(width, 2 * width, 1)
        self.depthwise = nn.Conv1d(width, width, taps, padding=taps // 2, groups=width)
        self.batch_norm = nn.BatchNorm1d(width)
        self.close = nn.Conv1d(width, width, 1)
        self.after = nn.LayerNorm(width)

    @staticmethod
    def _feed(width: int) -> nn.Sequential:
        return nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Dropout(0.1),
            nn.Linear(4 * width, width), nn.Dropout(0.1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        x = x + 0.5 * self.first(x)
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        h = F.glu(self.open(self.before(x).transpose(1, 2)), dim=1)
        h = self.close(F.silu(self.batch_norm(self.depthwise(h))))
        x = x + h.transpose(1, 2)
        return self.after(x + 0.5 * self.last(x))


class Conformer(Own):
    """A speech recogniser: a strided stem over a mel spectrogram, blocks, and CTC's loss."""

    def __init__(self, width: int = 256, depth: int = 8, letters: int = 64) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, width, 3, 2), nn.ReLU(), nn.Conv2d(width, width, 3, 2), nn.ReLU()
        )
        self.flat = nn.Linear(width * 19, width)
        self.blocks = nn.ModuleList(ConformerBlock(width, 4) for _ in range(depth))
        self.head = nn.Linear(width, letters)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 1, seq, 80),)

    def forward(self, mel: Tensor) -> Any:
        h = self.stem(mel)
        h = self.flat(h.transpose(1, 2).flatten(2))
        for block in self.blocks:
            h = block(h)
        out = self.head(h)
        return self.result(out, F.log_softmax(out.float(), -1).square().mean())


class StateSpace(Own):
    """Diagonal state spaces (S4D): long convolutions through the Fourier transform."""

    def __init__(self, width: int = 256, states: int = 64, depth: int = 4) -> None:
        super().__init__()
        self.open = nn.Linear(1, width)
        self.step = nn.Parameter(torch.rand(depth, width).float() * 4 - 7)
        self.real = nn.Parameter(torch.full((depth, width, states // 2), -0.7).float())
        self.imaginary = nn.Parameter(
            3.14 * torch.arange(states // 2).float().expand(depth, width, -1).clone()
        )
        self.output = nn.Parameter(torch.randn(depth, width, states // 2, 2).float())
        self.skip = nn.Parameter(torch.randn(depth, width).float())
        self.mixers = nn.ModuleList(
            nn.Sequential(nn.GELU(), nn.Conv1d(width, 2 * width, 1), nn.GLU(dim=1))
            for _ in range(depth)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.head = nn.Linear(width, 10)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, seq, 1),)

    def forward(self, x: Tensor) -> Any:
        h = self.open(x)
        size = x.shape[1]
        for i, (mixer, norm) in enumerate(zip(self.mixers, self.norms, strict=True)):
            step = self.step[i].exp()
            poles = -self.real[i].exp() + 1j * self.imaginary[i]
            weights = torch.view_as_complex(self.output[i]) * (poles * step[:, None]).exp()
            powers = poles[..., None] * step[:, None, None] * torch.arange(size, device=x.device)
            taps = 2 * torch.einsum("hn,hnl->hl", weights, powers.exp()).real
            u = norm(h).transpose(1, 2)
            spectrum = torch.fft.rfft(taps, n=2 * size) * torch.fft.rfft(u.float(), n=2 * size)
            y = torch.fft.irfft(spectrum, n=2 * size)[..., :size] + u * self.skip[i][:, None]
            h = h + mixer(y.to(u.dtype)).transpose(1, 2)
        return self.result(self.head(h.mean(1)))


class TemporalConvolutions(Own):
    """A temporal convolutional network with normalised weights."""

    def __init__(self, inputs: int = 32, width: int = 128, depth: int = 8) -> None:
        super().__init__()
        sizes = [inputs] + [width] * depth
        self.first = nn.ModuleList(
            weight_norm(nn.Conv1d(a, width, 3, dilation=2**i)) for i, a in enumerate(sizes[:-1])
        )
        self.second = nn.ModuleList(
            weight_norm(nn.Conv1d(width, width, 3, dilation=2**i)) for i in range(depth)
        )
        self.match = nn.Conv1d(inputs, width, 1)
        self.head = nn.Linear(width, 1)
        self.drop = nn.Dropout(0.2)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 32, seq),)

    def forward(self, x: Tensor) -> Any:
        for i, (first, second) in enumerate(zip(self.first, self.second, strict=True)):
            pad = (2 * 2**i, 0)
            h = self.drop(F.relu(first(F.pad(x, pad))))
            h = self.drop(F.relu(second(F.pad(h, pad))))
            x = F.relu(h + (self.match(x) if i == 0 else x))
        return self.result(self.head(x[:, :, -1]))


SOUNDS: dict[str, type[Own]] = {
    "wavenet": WaveNet,
    "conformer": Conformer,
    "state-space": StateSpace,
    "tcn": TemporalConvolutions,
}
"""The networks by name."""
