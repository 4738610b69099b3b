"""DiT: Peebles and Xie 2022, "Scalable Diffusion Models with Transformers"."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output
from simulator.networks.timesteps import timestep_embedding


def modulate(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """Shift and scale x [batch, patches, width]; shift and scale are [batch, width] each."""
    return x * (1 + scale[:, None]) + shift[:, None]


class Block(nn.Module):
    """adaLN-Zero: the condition sets shift, scale and gate of both residual branches."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width, eps=1e-6, elementwise_affine=False)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=1e-6, elementwise_affine=False)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.modulation = nn.Linear(width, 6 * width)

    def attend(self, x: Tensor) -> Tensor:
        """[batch, patches, width] -> the same shape."""
        batch, patches, width = x.shape
        qkv = self.qkv(x).view(batch, patches, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(batch, patches, width))

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """x [batch, patches, width], condition [batch, width] -> like x."""
        shift1, scale1, gate1, shift2, scale2, gate2 = self.modulation(F.silu(condition)).chunk(
            6, dim=1
        )
        y = self.attend(modulate(self.attention_norm(x), shift1, scale1))
        x = x + gate1[:, None] * y
        y = self.up(modulate(self.norm(x), shift2, scale2))
        return x + gate2[:, None] * self.down(F.gelu(y, approximate="tanh"))


class Dit(nn.Module):
    """Predicts the noise and its variance in a latent image, given timestep and class."""

    positions: Tensor

    def __init__(
        self,
        width: int = 1152,
        layers: int = 28,
        heads: int = 16,
        patch: int = 2,
        latent: int = 32,
        channels: int = 4,
        classes: int = 1000,
    ) -> None:
        super().__init__()
        self.latent, self.channels, self.patch = latent, channels, patch
        self.classes = classes
        self.patches = nn.Conv2d(channels, width, patch, stride=patch)
        # Fixed sinusoids: half of the width encodes the row, the other half the column.
        line = timestep_embedding(torch.arange(latent // patch), width // 2)
        shape = (latent // patch, latent // patch, width // 2)
        grid = torch.cat((line[:, None].expand(shape), line[None].expand(shape)), dim=-1)
        self.register_buffer("positions", grid.flatten(0, 1)[None], persistent=False)
        self.time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.labels = nn.Embedding(classes + 1, width)  # the last one is "no class"
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, eps=1e-6, elementwise_affine=False)
        self.modulation = nn.Linear(width, 2 * width)
        self.head = nn.Linear(width, patch * patch * 2 * channels)

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """Latents [batch, channels, latent, latent], timesteps [batch], classes [batch].

        Training adds the noise to predict, like the latents; `seq` is ignored.
        """
        dtype = self.head.weight.dtype
        shape = (batch, self.channels, self.latent, self.latent)
        classes = torch.randint(0, self.classes, (batch,))
        inputs = (torch.randn(shape, dtype=dtype), torch.randint(0, 1000, (batch,)), classes)
        return (*inputs, torch.randn(shape, dtype=dtype)) if training else inputs

    def forward(
        self, x: Tensor, timesteps: Tensor, classes: Tensor, labels: Tensor | None = None
    ) -> Tensor | Output:
        """x [batch, channels, latent, latent] -> [batch, 2·channels, latent, latent]."""
        time = self.time(timestep_embedding(timesteps, 256).to(x.dtype))
        condition = time + self.labels(classes)
        x = self.patches(x).flatten(2).transpose(1, 2) + self.positions
        for block in self.blocks:
            x = block(x, condition)
        shift, scale = self.modulation(F.silu(condition)).chunk(2, dim=1)
        x = self.head(modulate(self.norm(x), shift, scale))
        side, patch = self.latent // self.patch, self.patch
        x = x.view(-1, side, side, patch, patch, 2 * self.channels).permute(0, 5, 1, 3, 2, 4)
        noise = x.reshape(-1, 2 * self.channels, self.latent, self.latent)
        if labels is None:
            return noise
        # The variance half is trained by a likelihood term that is left out here.
        loss = F.mse_loss(noise[:, : self.channels].float(), labels.float())
        return Output(noise, loss)
