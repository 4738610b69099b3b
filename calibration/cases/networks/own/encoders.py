"""Further encoders, as users write them by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own, tokens


class Encoder(Own):
    """PyTorch's own encoder layers, with a mask for padding."""

    def __init__(self, width: int = 512, depth: int = 6) -> None:
        super().__init__()
        self.embed = nn.Embedding(8000, width)
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, 0.1, "gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, 2)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        lengths = torch.arange(batch) % (seq // 2) + seq // 2
        return tokens(batch, seq, 8000), torch.arange(seq) >= lengths[:, None]

    def forward(self, ids: Tensor, padding: Tensor) -> Any:
        h = self.encoder(self.embed(ids), src_key_padding_mask=padding)
        return self.result(self.head(h[:, 0]))


class Latents(Own):
    """A Perceiver: few latents attend to many inputs, then to themselves."""

    def __init__(self, width: int = 512, latents: int = 256, depth: int = 6) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(latents, width))
        self.open = nn.Linear(64, width)
        self.cross = nn.MultiheadAttention(width, 8, batch_first=True)
        self.own = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 8, 2 * width, 0.0, batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.head = nn.Linear(width, 100)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, seq, 64),)

    def forward(self, x: Tensor) -> Any:
        h = self.open(x)
        z = self.latents.expand(x.shape[0], -1, -1)
        z = z + self.cross(z, h, h)[0]
        for layer in self.own:
            z = layer(z)
        return self.result(self.head(z.mean(1)))


class Contrast(Own):
    """Two encoders and a contrastive loss over all pairs of a batch, as in CLIP."""

    def __init__(self, width: int = 384, depth: int = 6) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, 16)
        self.place = nn.Parameter(torch.randn(1, 196, width) * 0.02)
        self.embed = nn.Embedding(8000, width)
        self.image, self.text = (
            nn.ModuleList(
                nn.TransformerEncoderLayer(width, 6, 4 * width, 0.0, batch_first=True)
                for _ in range(depth)
            )
            for _ in range(2)
        )
        self.scale = nn.Parameter(torch.tensor(2.66))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3, 224, 224), tokens(batch, seq, 8000)

    def forward(self, image: Tensor, ids: Tensor) -> Any:
        a = self.patch(image).flatten(2).transpose(1, 2) + self.place
        for layer in self.image:
            a = layer(a)
        b = self.embed(ids)
        causal = nn.Transformer.generate_square_subsequent_mask(
            ids.shape[1], device=ids.device, dtype=b.dtype
        )
        for layer in self.text:
            b = layer(b, src_mask=causal)
        left, right = F.normalize(a.mean(1), dim=-1), F.normalize(b[:, -1], dim=-1)
        pairs = self.scale.exp() * left @ right.t()
        labels = torch.arange(len(ids), device=ids.device)
        both = F.cross_entropy(pairs.float(), labels) + F.cross_entropy(pairs.t().float(), labels)
        return self.result(pairs, both / 2)


class Codebook(Own):
    """A vector-quantised autoencoder: the nearest code of each pixel."""

    def __init__(self, width: int = 128, codes: int = 1024, size: int = 64) -> None:
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(3, width // 2, 4, 2, 1), nn.ReLU(), nn.Conv2d(width // 2, width, 4, 2, 1),
            nn.ReLU(), nn.Conv2d(width, width, 3, 1, 1), nn.ReLU(), nn.Conv2d(width, size, 1),
        )  # fmt: skip
        self.codes = nn.Embedding(codes, size)
        self.up = nn.Sequential(
            nn.Conv2d(size, width, 3, 1, 1), nn.ReLU(),
            nn.ConvTranspose2d(width, width // 2, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(width // 2, 3, 4, 2, 1),
        )  # fmt: skip

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 3, 128, 128),)

    def forward(self, x: Tensor) -> Any:
        z = self.down(x).permute(0, 2, 3, 1)
        flat = z.flatten(0, 2).float()
        nearest = torch.cdist(flat, self.codes.weight.float()).argmin(1)
        chosen = self.codes(nearest).view_as(z)
        commitment = F.mse_loss(chosen.detach(), z) + F.mse_loss(chosen, z.detach())
        out = self.up((z + (chosen - z).detach()).permute(0, 3, 1, 2))
        return self.result(out, F.mse_loss(out, x) + 0.25 * commitment)


ENCODERS: dict[str, type[Own]] = {
    "encoder": Encoder,
    "perceiver": Latents,
    "clip": Contrast,
    "vq-vae": Codebook,
}
"""The networks by name."""
