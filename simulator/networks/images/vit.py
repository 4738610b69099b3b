"""Vision Transformer: Dosovitskiy et al. 2020, "An Image is Worth 16x16 Words"."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output


class Block(nn.Module):
    """Pre-LN encoder block: self-attention over the patches, then a GELU MLP."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width, eps=1e-6)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def attend(self, x: Tensor) -> Tensor:
        """[batch, patches, width] -> the same shape."""
        batch, patches, width = x.shape
        qkv = self.qkv(x).view(batch, patches, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(batch, patches, width))

    def forward(self, x: Tensor) -> Tensor:
        """[batch, patches, width] -> the same shape."""
        x = x + self.attend(self.attention_norm(x))
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Vit(nn.Module):
    """An image cut into patches, a class token in front, and a linear classifier on it."""

    def __init__(
        self,
        width: int = 768,
        layers: int = 12,
        heads: int = 12,
        hidden: int = 3072,
        image: int = 224,
        patch: int = 16,
        classes: int = 1000,
    ) -> None:
        super().__init__()
        self.image = image
        self.classes = classes
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, (image // patch) ** 2 + 1, width))
        nn.init.normal_(self.positions, std=0.02)
        self.blocks = nn.ModuleList(Block(width, heads, hidden) for _ in range(layers))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """Images [batch, 3, image, image], then labels [batch] if training; `seq` is ignored."""
        x = torch.randn(batch, 3, self.image, self.image, dtype=self.head.weight.dtype)
        return (x, torch.randint(0, self.classes, (batch,))) if training else (x,)

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """x [batch, 3, image, image] -> logits [batch, classes]."""
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.class_token.expand(x.shape[0], -1, -1), x), dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x)[:, 0])
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits, labels))
