"""Networks that predict a map or boxes for each picture, as users write them by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own, double


class Gate(nn.Module):
    """An attention gate: the coarse signal weighs each pixel of a skip connection."""

    def __init__(self, coarse: int, skip: int, inner: int) -> None:
        super().__init__()
        self.coarse = nn.Sequential(nn.Conv2d(coarse, inner, 1), nn.BatchNorm2d(inner))
        self.skip = nn.Sequential(nn.Conv2d(skip, inner, 1), nn.BatchNorm2d(inner))
        self.psi = nn.Sequential(nn.Conv2d(inner, 1, 1), nn.BatchNorm2d(1), nn.Sigmoid())

    def forward(self, coarse: Tensor, skip: Tensor) -> Tensor:
        return skip * self.psi(F.relu(self.coarse(coarse) + self.skip(skip)))


class AttentionUNet(Own):
    """A U-Net with attention gates; the loss is cross entropy and Dice's."""

    def __init__(self, width: int = 32, levels: int = 4, side: int = 256) -> None:
        super().__init__()
        self.side = side
        widths = [width * 2**i for i in range(levels + 1)]
        self.down = nn.ModuleList(double(a, b) for a, b in zip([1, *widths], widths, strict=False))
        self.up, self.gates, self.merge = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for fine, coarse in reversed(list(pairwise(widths))):
            self.up.append(nn.Sequential(
                nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
                nn.Conv2d(coarse, fine, 3, padding=1), nn.BatchNorm2d(fine), nn.ReLU(inplace=True),
            ))  # fmt: skip
            self.gates.append(Gate(fine, fine, fine // 2))
            self.merge.append(double(2 * fine, fine))
        self.head = nn.Conv2d(width, 1, 1)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        mask = (self.random(batch, 1, self.side, self.side) > 0).float()
        return self.random(batch, 1, self.side, self.side), mask

    def forward(self, x: Tensor, mask: Tensor) -> Any:
        skips: list[Tensor] = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            skips.append(x)
        skips.pop()
        for up, gate, merge in zip(self.up, self.gates, self.merge, strict=True):
            x = up(x)
            x = merge(torch.cat([gate(x, skips.pop()), x], dim=1))
        scores = self.head(x)
        if not self.training:
            return torch.sigmoid(scores) > 0.5
        p = torch.sigmoid(scores.float())
        overlap = (p * mask).sum((1, 2, 3))
        dice = 1 - (2 * overlap + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)
        loss = F.binary_cross_entropy_with_logits(scores.float(), mask) + dice.mean()
        return self.result(scores, loss)


class Bottleneck(nn.Module):
    """A residual block of three convolutions, norms first."""

    def __init__(self, inward: int, outward: int) -> None:
        super().__init__()
        half = outward // 2
        self.layers = nn.Sequential(
            nn.BatchNorm2d(inward), nn.ReLU(), nn.Conv2d(inward, half, 1), nn.BatchNorm2d(half),
            nn.ReLU(), nn.Conv2d(half, half, 3, padding=1), nn.BatchNorm2d(half), nn.ReLU(),
            nn.Conv2d(half, outward, 1),
        )  # fmt: skip
        self.skip = nn.Identity() if inward == outward else nn.Conv2d(inward, outward, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.skip(x) + self.layers(x)


class Hourglass(nn.Module):
    """A recursive encoder and decoder that adds the skip at each level."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.skip, self.low, self.after = (Bottleneck(width, width) for _ in range(3))
        self.inner = Hourglass(width, depth - 1) if depth > 1 else Bottleneck(width, width)

    def forward(self, x: Tensor) -> Tensor:
        low = self.after(self.inner(self.low(F.max_pool2d(x, 2, 2))))
        return self.skip(x) + F.interpolate(low, scale_factor=2, mode="nearest")


class Keypoints(Own):
    """Stacked hourglasses: the heat maps of 17 joints, supervised after each stack."""

    def __init__(self, width: int = 128, stacks: int = 2, depth: int = 4, side: int = 256) -> None:
        super().__init__()
        self.side = side
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
            Bottleneck(64, 128), nn.MaxPool2d(2, 2), Bottleneck(128, width),
        )  # fmt: skip
        self.stacks = nn.ModuleList(
            nn.Sequential(
                Hourglass(width, depth), Bottleneck(width, width), nn.Conv2d(width, width, 1),
                nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            )
            for _ in range(stacks)
        )  # fmt: skip
        self.heads = nn.ModuleList(nn.Conv2d(width, 17, 1) for _ in range(stacks))
        self.back = nn.ModuleList(nn.Conv2d(17, width, 1) for _ in range(stacks - 1))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        joints = torch.rand(batch, 17, 2) * (self.side // 4)
        return self.random(batch, 3, self.side, self.side), joints

    def forward(self, x: Tensor, joints: Tensor) -> Any:
        x = self.stem(x)
        maps: list[Tensor] = []
        for i, (stack, head) in enumerate(zip(self.stacks, self.heads, strict=True)):
            features = stack(x)
            maps.append(head(features))
            if i < len(self.back):
                x = x + features + self.back[i](maps[-1])
        heat = torch.stack(maps, 1)
        if not self.training:
            place = heat[:, -1].flatten(2).argmax(-1)
            return torch.stack([place % heat.shape[-1], place // heat.shape[-1]], -1)
        axis = torch.arange(heat.shape[-1], device=x.device)
        across = (axis - joints[..., :1]).pow(2)[..., None, :]
        along = (axis - joints[..., 1:]).pow(2)[..., :, None]
        goal = torch.exp(-(across + along) / 2.0)
        return self.result(heat, ((heat.float() - goal[:, None]) ** 2).mean())


def separable(width: int, outward: int) -> nn.Sequential:
    """A depthwise convolution of 3 × 3 and one of 1 × 1."""
    depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False)
    return nn.Sequential(depthwise, nn.Conv2d(width, outward, 1))


class WeightedFusion(nn.Module):
    """One BiFPN layer: top-down, then bottom-up, each sum with learned positive weights."""

    def __init__(self, width: int, levels: int = 5) -> None:
        super().__init__()
        self.down = nn.ParameterList(nn.Parameter(torch.ones(2)) for _ in range(levels - 1))
        self.up = nn.ParameterList(nn.Parameter(torch.ones(3)) for _ in range(levels - 1))
        self.convs = nn.ModuleList(
            nn.Sequential(separable(width, width), nn.BatchNorm2d(width, 1e-3, 0.01), nn.SiLU())
            for _ in range(2 * (levels - 1))
        )

    @staticmethod
    def blend(weights: Tensor, *maps: Tensor) -> Tensor:
        weights = F.relu(weights)
        weights = weights / (weights.sum() + 1e-4)
        return torch.stack([w * m for w, m in zip(weights, maps, strict=False)]).sum(0)

    def forward(self, maps: list[Tensor]) -> list[Tensor]:
        middle = [maps[-1]]
        for i, level in enumerate(reversed(maps[:-1])):
            raised = F.interpolate(middle[0], size=level.shape[-2:], mode="nearest")
            middle.insert(0, self.convs[i](self.blend(self.down[i], level, raised)))
        out = [middle[0]]
        for i, (level, inner) in enumerate(zip(maps[1:], middle[1:], strict=True)):
            lowered = F.max_pool2d(out[-1], 3, 2, 1)
            conv = self.convs[len(self.down) + i]
            out.append(conv(self.blend(self.up[i], level, inner, lowered)))
        return out


class PyramidDetector(Own):
    """An anchor-based detector: a strided backbone, BiFPN layers and shared separable heads."""

    def __init__(self, width: int = 64, layers: int = 3, side: int = 512, kinds: int = 80) -> None:
        super().__init__()
        self.side, self.kinds = side, kinds
        blocks: list[nn.Module] = []
        before = 3
        for outward in (32, 64, 96, 160, 224, 224, 224):
            blocks.append(nn.Sequential(
                nn.Conv2d(before, outward, 3, 2, 1, bias=False), nn.BatchNorm2d(outward), nn.SiLU(),
                separable(outward, outward), nn.BatchNorm2d(outward), nn.SiLU(),
            ))  # fmt: skip
            before = outward
        self.backbone = nn.ModuleList(blocks)
        self.lateral = nn.ModuleList(nn.Conv2d(w, width, 1) for w in (96, 160, 224, 224, 224))
        self.layers = nn.ModuleList(WeightedFusion(width) for _ in range(layers))
        self.shared = nn.ModuleList(separable(width, width) for _ in range(3))
        self.norms = nn.ModuleList(
            nn.ModuleList(nn.BatchNorm2d(width) for _ in range(3)) for _ in range(5)
        )
        self.score, self.box = separable(width, 9 * kinds), separable(width, 9 * 4)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        count = 9 * sum((self.side // 2**i) ** 2 for i in range(3, 8))
        classes = torch.randint(-1, self.kinds, (batch, count))
        return self.random(batch, 3, self.side, self.side), classes, torch.randn(batch, count, 4)

    def forward(self, x: Tensor, classes: Tensor, offsets: Tensor) -> Any:
        maps: list[Tensor] = []
        for block in self.backbone:
            x = block(x)
            maps.append(x)
        maps = [lateral(m) for lateral, m in zip(self.lateral, maps[2:], strict=True)]
        for layer in self.layers:
            maps = layer(maps)
        scores: list[Tensor] = []
        boxes: list[Tensor] = []
        for level, norms in zip(maps, self.norms, strict=True):
            for conv, norm in zip(self.shared, norms, strict=True):  # pyright: ignore
                level = F.silu(norm(conv(level)))
            score, box = self.score(level), self.box(level)
            scores.append(score.permute(0, 2, 3, 1).reshape(len(score), -1, self.kinds))
            boxes.append(box.permute(0, 2, 3, 1).reshape(len(box), -1, 4))
        score, box = torch.cat(scores, 1), torch.cat(boxes, 1)
        if not self.training:
            best, kind = score.sigmoid().max(-1)
            top, index = best.topk(100, dim=1)
            return top, kind.gather(1, index), box.gather(1, index[..., None].expand(-1, -1, 4))
        goal = F.one_hot(classes.clamp(min=0), self.kinds).float() * (classes >= 0)[..., None]
        plain = F.binary_cross_entropy_with_logits(score.float(), goal, reduction="none")
        p = score.float().sigmoid()
        right = p * goal + (1 - p) * (1 - goal)
        focal = (0.25 * goal + 0.75 * (1 - goal)) * (1 - right) ** 1.5 * plain
        positive = (classes >= 0).sum().clamp(min=1)
        near = F.smooth_l1_loss(box.float(), offsets, reduction="none", beta=0.1)
        near = near * (classes >= 0)[..., None]
        return self.result(score, (focal.sum() + 50 * near.sum()) / positive)


MAPS: dict[str, type[Own]] = {
    "attention-gates": AttentionUNet,
    "hourglass": Keypoints,
    "pyramid-detector": PyramidDetector,
}
"""By name."""
