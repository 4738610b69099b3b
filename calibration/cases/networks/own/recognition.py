"""Networks that recognise pictures, as users write them by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own, tokens


class ConvolutionalAttention(nn.Module):
    """CBAM: channels are weighed by their mean and maximum, then pixels by theirs."""

    def __init__(self, width: int, reduction: int = 16) -> None:
        super().__init__()
        self.shared = nn.Sequential(
            nn.Linear(width, width // reduction), nn.ReLU(), nn.Linear(width // reduction, width)
        )
        self.spatial = nn.Conv2d(2, 1, 7, padding=3, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        mean, most = x.mean((2, 3)), x.amax((2, 3))
        x = x * torch.sigmoid(self.shared(mean) + self.shared(most))[:, :, None, None]
        pixels = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True)[0]], dim=1)
        return x * torch.sigmoid(self.spatial(pixels))


class GroupedBlock(nn.Module):
    """A ResNeXt block of 32 groups with CBAM."""

    def __init__(self, inward: int, outward: int, stride: int) -> None:
        super().__init__()
        inner = outward // 2
        self.layers = nn.Sequential(
            nn.Conv2d(inward, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(inplace=True),
            nn.Conv2d(inner, inner, 3, stride, 1, groups=32, bias=False), nn.BatchNorm2d(inner),
            nn.ReLU(inplace=True), nn.Conv2d(inner, outward, 1, bias=False),
            nn.BatchNorm2d(outward),
        )  # fmt: skip
        self.attention = ConvolutionalAttention(outward)
        self.skip: nn.Module = nn.Identity()
        if stride > 1 or inward != outward:
            self.skip = nn.Sequential(
                nn.Conv2d(inward, outward, 1, stride, bias=False), nn.BatchNorm2d(outward)
            )

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.attention(self.layers(x)) + self.skip(x), inplace=True)


class GroupedAttention(Own):
    """A classifier of grouped convolutions with CBAM, channels last."""

    def __init__(self, side: int = 224, blocks: int = 2) -> None:
        super().__init__()
        self.side = side
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        layers: list[nn.Module] = []
        before = 64
        for stage, width in enumerate((256, 512, 1024, 2048)):
            for i in range(blocks):
                layers.append(GroupedBlock(before, width, 2 if stage and i == 0 else 1))
                before = width
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(2048, 200)
        self.to(memory_format=torch.channels_last)  # pyright: ignore

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        x = self.random(batch, 3, self.side, self.side).to(memory_format=torch.channels_last)
        return x, torch.randint(0, 200, (batch,))

    def forward(self, x: Tensor, labels: Tensor) -> Any:
        x = self.layers(self.stem(x))
        scores = self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))
        return self.result(scores, F.cross_entropy(scores, labels, label_smoothing=0.1))


class SpatialTransformer(Own):
    """A classifier of street signs that turns and crops its input by a learned affine map."""

    def __init__(self, side: int = 96, kinds: int = 43) -> None:
        super().__init__()
        self.side = side
        self.localize = nn.Sequential(
            nn.Conv2d(3, 32, 7), nn.MaxPool2d(2), nn.ReLU(True),
            nn.Conv2d(32, 64, 5), nn.MaxPool2d(2), nn.ReLU(True), nn.AdaptiveAvgPool2d(4),
        )  # fmt: skip
        self.place = nn.Sequential(nn.Linear(64 * 16, 64), nn.ReLU(True), nn.Linear(64, 6))
        nn.init.zeros_(self.place[2].weight)  # pyright: ignore
        with torch.no_grad():
            self.place[2].bias.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))  # pyright: ignore
        layers: list[nn.Module] = []
        before = 3
        for width in (64, 128, 256):
            layers += [nn.Conv2d(before, width, 5, padding=2), nn.BatchNorm2d(width),
                       nn.LeakyReLU(0.1), nn.MaxPool2d(2), nn.Dropout2d(0.1)]  # fmt: skip
            before = width
        self.features = nn.Sequential(*layers, nn.Flatten())
        self.head = nn.Sequential(
            nn.Linear(256 * (side // 8) ** 2, 350), nn.ReLU(), nn.Linear(350, kinds)
        )

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3, self.side, self.side), torch.randint(0, 43, (batch,))

    def forward(self, x: Tensor, labels: Tensor) -> Any:
        theta = self.place(self.localize(x).flatten(1)).view(-1, 2, 3)
        grid = F.affine_grid(theta, list(x.shape), align_corners=False)
        x = F.grid_sample(x, grid.to(x.dtype), align_corners=False)
        scores = self.head(F.dropout(self.features(x), 0.3, self.training))
        return self.result(F.log_softmax(scores, 1), F.nll_loss(F.log_softmax(scores, 1), labels))


class Capsules(Own):
    """Capsules with three rounds of routing by agreement, and the margin loss."""

    def __init__(self, width: int = 256, rounds: int = 3) -> None:
        super().__init__()
        self.rounds = rounds
        self.first = nn.Conv2d(1, width, 9)
        self.primary = nn.Conv2d(width, 32 * 8, 9, 2)
        self.weights = nn.Parameter(0.01 * torch.randn(1, 10, 32 * 36, 16, 8))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 1, 28, 28), torch.randint(0, 10, (batch,))

    @staticmethod
    def squash(x: Tensor) -> Tensor:
        length = x.norm(dim=-1, keepdim=True)
        return x * (length / (1 + length**2))

    def forward(self, x: Tensor, labels: Tensor) -> Any:
        u = self.primary(F.relu(self.first(x)))
        u = self.squash(u.view(len(x), 32, 8, -1).permute(0, 1, 3, 2).reshape(len(x), -1, 8))
        votes = (self.weights @ u[:, None, :, :, None]).squeeze(-1)
        fixed = votes.detach()
        b = torch.zeros_like(fixed[..., :1])
        for _ in range(self.rounds - 1):
            v = self.squash((F.softmax(b, dim=1) * fixed).sum(2))
            b = b + (fixed * v[:, :, None]).sum(-1, keepdim=True)
        v = self.squash((F.softmax(b, dim=1) * votes).sum(2))
        length = v.norm(dim=-1)
        goal = F.one_hot(labels, 10).to(length.dtype)
        loss = goal * F.relu(0.9 - length) ** 2 + 0.5 * (1 - goal) * F.relu(length - 0.1) ** 2
        return self.result(length, loss.sum(1).mean())


class MaskedPatches(Own):
    """A masked autoencoder: 75% of the patches are removed by a random order, and predicted."""

    def __init__(self, width: int = 384, layers: int = 8, side: int = 224) -> None:
        super().__init__()
        self.side, self.count = side, (side // 16) ** 2
        self.embed = nn.Conv2d(3, width, 16, 16)
        self.places = nn.Parameter(torch.zeros(1, self.count, width))
        self.encoder = self.stack(width, 6, layers)
        self.narrow = nn.Linear(width, 256)
        self.mask = nn.Parameter(torch.zeros(1, 1, 256))
        self.later_places = nn.Parameter(torch.zeros(1, self.count, 256))
        self.decoder = self.stack(256, 8, 2)
        self.norm, self.head = nn.LayerNorm(256), nn.Linear(256, 16 * 16 * 3)

    @staticmethod
    def stack(width: int, heads: int, layers: int) -> nn.TransformerEncoder:
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 3, self.side, self.side),)

    def forward(self, images: Tensor) -> Any:
        x = self.embed(images).flatten(2).transpose(1, 2) + self.places
        batch, count, width = x.shape
        order = torch.rand(batch, count, device=x.device).argsort(dim=1)
        restore = order.argsort(dim=1)
        left = count // 4
        x = torch.gather(x, 1, order[:, :left, None].expand(-1, -1, width))
        x = self.encoder(x)
        if not self.training:
            return x.mean(1)
        x = self.narrow(x)
        x = torch.cat([x, self.mask.expand(batch, count - left, -1).to(x.dtype)], dim=1)
        x = torch.gather(x, 1, restore[..., None].expand(-1, -1, 256)) + self.later_places
        out = self.head(self.norm(self.decoder(x)))
        patches = F.unfold(images, 16, stride=16).transpose(1, 2)
        mean, spread = patches.mean(-1, keepdim=True), patches.var(-1, keepdim=True)
        patches = (patches - mean) / (spread + 1e-6).sqrt()
        removed = (restore >= left).float()
        loss = ((out - patches) ** 2).mean(-1)
        return self.result(out, (loss * removed).sum() / removed.sum())


class Questions(Own):
    """Answers about a picture: a GRU reads the question and scales each block's channels."""

    def __init__(self, width: int = 128, blocks: int = 4, side: int = 112) -> None:
        super().__init__()
        self.side, self.width = side, width
        self.words, self.gru = nn.Embedding(1000, 200), nn.GRU(200, 1024, batch_first=True)
        self.films = nn.Linear(1024, 2 * width * blocks)
        layers: list[nn.Module] = []
        before = 3
        for _ in range(3):
            layers += [nn.Conv2d(before, width, 4, 2, 1), nn.BatchNorm2d(width), nn.ReLU()]
            before = width
        self.stem = nn.Sequential(*layers)
        self.ones = nn.ModuleList(nn.Conv2d(width + 2, width, 1) for _ in range(blocks))
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(blocks))
        self.norms = nn.ModuleList(nn.BatchNorm2d(width, affine=False) for _ in range(blocks))
        self.head = nn.Sequential(nn.Linear(width, 1024), nn.ReLU(), nn.Linear(1024, 28))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        picture = self.random(batch, 3, self.side, self.side)
        return picture, tokens(batch, seq), torch.randint(0, 28, (batch,))

    def forward(self, x: Tensor, words: Tensor, answers: Tensor) -> Any:
        _, h = self.gru(self.words(words))
        films = self.films(h[-1]).view(len(x), -1, 2, self.width, 1, 1)
        x = self.stem(x)
        axis = torch.linspace(-1, 1, x.shape[-1], device=x.device, dtype=x.dtype)
        places = torch.stack(torch.meshgrid(axis, axis, indexing="ij")).expand(len(x), -1, -1, -1)
        for i, (one, conv, norm) in enumerate(zip(self.ones, self.convs, self.norms, strict=True)):
            x = F.relu(one(torch.cat([x, places], 1)))
            gamma, beta = films[:, i, 0], films[:, i, 1]
            x = x + F.relu((1 + gamma) * norm(conv(x)) + beta)
        scores = self.head(F.adaptive_max_pool2d(x, 1).flatten(1))
        return self.result(scores, F.cross_entropy(scores, answers))


RECOGNITION: dict[str, type[Own]] = {
    "grouped-attention": GroupedAttention,
    "spatial-transformer": SpatialTransformer,
    "capsules": Capsules,
    "masked-patches": MaskedPatches,
    "questions": Questions,
}
"""By name."""
