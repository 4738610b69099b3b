"""Swin Transformer: Liu et al. 2021, "Hierarchical Vision Transformer using Shifted Windows"."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.images.stochastic_depth import StochasticDepth
from simulator.networks.output import Output


def to_windows(x: Tensor, window: int) -> Tensor:
    """[batch, side, side, width] -> [batch, windows, window·window, width]."""
    batch, side, _, width = x.shape
    x = x.view(batch, side // window, window, side // window, window, width)
    return x.transpose(2, 3).reshape(batch, -1, window * window, width)


def from_windows(x: Tensor, window: int, side: int) -> Tensor:
    """The inverse of `to_windows`."""
    batch, _, _, width = x.shape
    x = x.view(batch, side // window, side // window, window, window, width)
    return x.transpose(2, 3).reshape(batch, side, side, width)


class WindowAttention(nn.Module):
    """Attention inside windows of patches; in every other block the windows are shifted."""

    index: Tensor
    mask: Tensor | None

    def __init__(self, width: int, heads: int, side: int, window: int, shift: int) -> None:
        super().__init__()
        self.heads = heads
        self.window = window
        self.shift = shift
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.bias = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        nn.init.trunc_normal_(self.bias, std=0.02)
        row = torch.arange(window).repeat_interleave(window)
        column = torch.arange(window).repeat(window)
        index = (row[:, None] - row + window - 1) * (2 * window - 1)
        index = index + column[:, None] - column + window - 1
        self.register_buffer("index", index.flatten(), persistent=False)
        self.register_buffer("mask", self.shift_mask(side) if shift else None, persistent=False)

    def shift_mask(self, side: int) -> Tensor:
        """[windows, 1, w·w, w·w]: -100 between patches that are neighbours only after the roll."""
        line = torch.arange(side)
        band = (line >= side - self.window).long() + (line >= side - self.shift).long()
        region = (3 * band[:, None] + band).view(1, side, side, 1)
        region = to_windows(region, self.window).view(-1, self.window**2)
        apart = region[:, :, None] != region[:, None, :]
        return (apart * -100.0)[:, None]

    def forward(self, x: Tensor) -> Tensor:
        """[batch, side, side, width] -> the same shape."""
        side = x.shape[1]
        if self.shift:
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        x = to_windows(x, self.window)
        batch, windows, patches, width = x.shape
        qkv = self.qkv(x).view(batch, windows, patches, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(3, 0, 1, 4, 2, 5).unbind(0)
        bias = self.bias[self.index].view(patches, patches, self.heads).permute(2, 0, 1)
        scores = torch.matmul(q * (width // self.heads) ** -0.5, k.transpose(-2, -1)) + bias
        if self.mask is not None:
            scores = scores + self.mask
        y = torch.matmul(F.softmax(scores, dim=-1), v)
        y = self.out(y.transpose(2, 3).reshape(batch, windows, patches, width))
        y = from_windows(y, self.window, side)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        return y


class Block(nn.Module):
    """Pre-LN window attention, then a GELU MLP."""

    def __init__(
        self, width: int, heads: int, side: int, window: int, shift: int, drop: float
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = WindowAttention(width, heads, side, window, shift)
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.drop = StochasticDepth(drop)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, side, side, width] -> the same shape."""
        x = x + self.drop(self.attention(self.attention_norm(x)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm(x)))))


class Merge(nn.Module):
    """Merges each square of 2 x 2 patches into one patch of twice the width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * width)
        self.reduce = nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, side, side, width] -> [batch, side / 2, side / 2, 2·width]."""
        corners = (x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2])
        return self.reduce(self.norm(torch.cat(corners, dim=-1)))


class Swin(nn.Module):
    """Stages of windowed blocks with patch merging between them.

    The image's side must be a multiple of 4 · 2^(stages − 1) · window.
    """

    def __init__(
        self,
        width: int = 96,
        depths: tuple[int, ...] = (2, 2, 6, 2),
        heads: tuple[int, ...] = (3, 6, 12, 24),
        window: int = 7,
        image: int = 224,
        classes: int = 1000,
        drop: float = 0.2,
    ) -> None:
        super().__init__()
        self.image = image
        self.classes = classes
        self.patches = nn.Conv2d(3, width, 4, stride=4)
        self.patch_norm = nn.LayerNorm(width)
        drops = iter(i * drop / max(sum(depths) - 1, 1) for i in range(sum(depths)))
        side = image // 4
        self.stages = nn.ModuleList()
        for stage, (depth, stage_heads) in enumerate(zip(depths, heads, strict=True)):
            # One window that covers the whole image has no neighbour to shift towards.
            shift = window // 2 if side > window else 0
            self.stages.extend(
                Block(width, stage_heads, side, window, shift * (i % 2), next(drops))
                for i in range(depth)
            )
            if stage < len(depths) - 1:
                self.stages.append(Merge(width))
                width, side = 2 * width, side // 2
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """Images [batch, 3, image, image], then labels [batch] if training; `seq` is ignored."""
        x = torch.randn(batch, 3, self.image, self.image, dtype=self.head.weight.dtype)
        return (x, torch.randint(0, self.classes, (batch,))) if training else (x,)

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """x [batch, 3, image, image] -> logits [batch, classes]."""
        x = self.patch_norm(self.patches(x).permute(0, 2, 3, 1))
        for part in self.stages:
            x = part(x)
        logits = self.head(self.norm(x).mean(dim=(1, 2)))
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits, labels))
