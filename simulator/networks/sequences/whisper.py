"""Whisper: Radford et al. 2022, "Robust Speech Recognition via Weak Supervision"; encoder."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output
from simulator.networks.timesteps import timestep_embedding


class Block(nn.Module):
    """Pre-LN self-attention and a GELU MLP; the key projection has no bias."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def attend(self, x: Tensor) -> Tensor:
        """[batch, steps, width] -> the same shape."""
        batch, steps, width = x.shape
        shape = (batch, steps, self.heads, width // self.heads)
        q = self.query(x).view(shape).transpose(1, 2)
        k = self.key(x).view(shape).transpose(1, 2)
        v = self.value(x).view(shape).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(batch, steps, width))

    def forward(self, x: Tensor) -> Tensor:
        """[batch, steps, width] -> the same shape."""
        x = x + self.attend(self.attention_norm(x))
        return x + self.down(F.gelu(self.up(self.norm(x))))


class WhisperEncoder(nn.Module):
    """Encodes log-mel frames; a linear layer classifies the spoken language by their mean."""

    positions: Tensor

    def __init__(
        self,
        width: int = 512,
        layers: int = 6,
        heads: int = 8,
        mels: int = 80,
        positions: int = 1500,
        languages: int = 99,
    ) -> None:
        super().__init__()
        self.mels = mels
        self.languages = languages
        self.conv1 = nn.Conv1d(mels, width, 3, padding=1)
        self.conv2 = nn.Conv1d(width, width, 3, stride=2, padding=1)
        sinusoids = timestep_embedding(torch.arange(positions), width)
        self.register_buffer("positions", sinusoids, persistent=False)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, languages)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        """Frames [batch, mels, seq], seq at most 2·positions; labels [batch] if training."""
        x = torch.randn(batch, self.mels, seq, dtype=self.head.weight.dtype)
        return (x, torch.randint(0, self.languages, (batch,))) if training else (x,)

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """x [batch, mels, frames] -> logits [batch, languages]."""
        x = F.gelu(self.conv2(F.gelu(self.conv1(x)))).transpose(1, 2)
        x = x + self.positions[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x).mean(dim=1))
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits, labels))
