"""Networks for speech, series and long sequences as users write them by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from calibration.cases.networks.own.network import Own, tokens


class Vocoder(Own):
    """Sound from mel spectrograms: transposed convolutions, each followed by dilated residual
    blocks, all with normalized weights."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.before = weight_norm(nn.Conv1d(80, width, 7, padding=3))
        self.ups, self.blocks = nn.ModuleList(), nn.ModuleList()
        for rate, taps in ((8, 16), (8, 16), (4, 8)):
            pad = (taps - rate) // 2
            self.ups.append(weight_norm(nn.ConvTranspose1d(width, width // 2, taps, rate, pad)))
            width //= 2
            self.blocks.append(nn.ModuleList(
                nn.ModuleList(
                    weight_norm(nn.Conv1d(width, width, size, dilation=d, padding=d * (size // 2)))
                    for d in (1, 3, 5)
                ) for size in (3, 7)
            ))  # fmt: skip
        self.after = weight_norm(nn.Conv1d(width, 1, 7, padding=3))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 80, seq),)

    def forward(self, x: Tensor) -> Any:
        x = self.before(x)
        for up, blocks in zip(self.ups, self.blocks, strict=True):
            x = up(F.leaky_relu(x, 0.1))
            total = None
            for block in blocks:  # pyright: ignore
                y = x
                for layer in block:
                    y = y + layer(F.leaky_relu(y, 0.1))
                total = y if total is None else total + y
            x = total / 2  # pyright: ignore
        return self.result(torch.tanh(self.after(F.leaky_relu(x))))


class Listener(Own):
    """Speech to letters: strided convolutions over raw sound, a GRU of two directions, CTC."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inward = 1
        for taps, stride in ((10, 5), (3, 2), (3, 2), (3, 2), (2, 2)):
            layers += [nn.Conv1d(inward, width, taps, stride, bias=False),
                       nn.GroupNorm(width, width), nn.GELU()]  # fmt: skip
            inward = width
        self.features = nn.Sequential(*layers)
        self.gru = nn.GRU(width, width, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, 32)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, seq), torch.randint(1, 32, (batch, 20))

    def forward(self, sound: Tensor, letters: Tensor) -> Any:
        x = self.features(sound[:, None]).transpose(1, 2)
        x, _ = self.gru(x)
        scores = F.log_softmax(self.head(x).float(), -1)
        if not self.training:
            return scores.argmax(-1)
        steps, batch = scores.shape[1], scores.shape[0]
        lengths = torch.full((batch,), steps, dtype=torch.long)
        goals = torch.full((batch,), letters.shape[1], dtype=torch.long)
        return self.result(scores, F.ctc_loss(scores.transpose(0, 1), letters, lengths, goals))


class PatchedSeries(Own):
    """A forecast of many series: patches of 16 values are the words of an encoder."""

    def __init__(self, width: int = 128, layers: int = 3, heads: int = 8, ahead: int = 96) -> None:
        super().__init__()
        self.ahead = ahead
        self.embed = nn.Linear(16, width)
        self.places = nn.Parameter(torch.zeros(63, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, 0.1, "gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(63 * width, ahead)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 512, 7), self.random(batch, self.ahead, 7)

    def forward(self, x: Tensor, after: Tensor) -> Any:
        mean = x.mean(1, keepdim=True).detach()
        spread = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5).detach()
        x = ((x - mean) / spread).permute(0, 2, 1)
        patches = x.unfold(-1, 16, 8).flatten(0, 1)
        h = self.encoder(self.embed(patches) + self.places)
        out = self.head(h.flatten(1)).view(x.shape[0], 7, self.ahead).permute(0, 2, 1)
        out = out * spread + mean
        return self.result(out, F.mse_loss(out, after))


class Scans(Own):
    """A state-space decoder of chunks: decays summed within each chunk, one product per chunk, and
    a loop that carries the states from chunk to chunk."""

    def __init__(self, width: int = 512, layers: int = 4, heads: int = 8, chunk: int = 128) -> None:
        super().__init__()
        self.heads, self.chunk, self.states = heads, chunk, 64
        self.words = nn.Embedding(32000, width)
        parts = 2 * width + 2 * self.states + heads
        self.inward = nn.ModuleList(nn.Linear(width, parts, bias=False) for _ in range(layers))
        self.local = nn.ModuleList(
            nn.Conv1d(width, width, 4, groups=width, padding=3) for _ in range(layers)
        )
        self.outward = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(layers + 1))
        self.rates = nn.ParameterList(nn.Parameter(torch.zeros(heads)) for _ in range(layers))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (tokens(batch, seq),)

    def mix(self, x: Tensor, b: Tensor, c: Tensor, step: Tensor, rate: Tensor) -> Tensor:
        batch, length, width = x.shape
        chunks = length // self.chunk
        decay = -torch.exp(rate) * F.softplus(step)
        values = x.view(batch, chunks, self.chunk, self.heads, -1) * F.softplus(step).view(
            batch, chunks, self.chunk, self.heads, 1
        )
        b, c = (each.view(batch, chunks, self.chunk, self.states) for each in (b, c))
        total = decay.view(batch, chunks, self.chunk, self.heads).permute(0, 3, 1, 2).cumsum(-1)
        apart = total[..., :, None] - total[..., None, :]
        causal = torch.ones(self.chunk, self.chunk, dtype=torch.bool, device=x.device).tril()
        weights = torch.exp(apart.masked_fill(~causal, float("-inf")))
        scores = torch.einsum("bzln,bzsn->bzls", c, b)
        inside = torch.einsum("bzls,bhzls,bzshp->bzlhp", scores, weights.to(scores.dtype), values)
        ends = torch.exp(total[..., -1:] - total).to(values.dtype)
        states = torch.einsum("bzsn,bhzs,bzshp->bzhpn", b, ends, values)
        carried = torch.zeros_like(states[:, 0])
        before: list[Tensor] = []
        for i in range(chunks):
            before.append(carried)
            fade = torch.exp(total[:, :, i, -1])[..., None, None].to(states.dtype)
            carried = carried * fade + states[:, i]
        begun = torch.exp(total).to(values.dtype)
        across = torch.einsum("bzln,bzhpn,bhzl->bzlhp", c, torch.stack(before, 1), begun)
        return (inside + across).reshape(batch, length, width)

    def forward(self, ids: Tensor) -> Any:
        x = self.words(ids)
        length, width = ids.shape[1], x.shape[-1]
        for inward, local, outward, norm, rate in zip(
            self.inward, self.local, self.outward, self.norms, self.rates, strict=False
        ):
            sizes = [width, width, self.states, self.states, self.heads]
            gate, y, b, c, step = inward(norm(x)).split(sizes, dim=-1)
            y = F.silu(local(y.transpose(1, 2))[..., :length]).transpose(1, 2)
            y = self.mix(y.contiguous(), b, c, step, rate)
            x = x + outward(y * F.silu(gate))
        return self.result(self.norms[-1](x))


SPEECH: dict[str, type[Own]] = {
    "vocoder": Vocoder,
    "listener": Listener,
    "patched-series": PatchedSeries,
    "scans": Scans,
}
"""By name."""
