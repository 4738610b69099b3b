"""The U-Net of Stable Diffusion 1.5: Rombach et al. 2021, "Latent Diffusion Models"."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output
from simulator.networks.timesteps import timestep_embedding


class ResBlock(nn.Module):
    """Two 3x3 convolutions with group normalisation; the time embedding is added between."""

    def __init__(self, channels: int, out: int, time: int, groups: int) -> None:
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, channels)
        self.conv1 = nn.Conv2d(channels, out, 3, padding=1)
        self.time = nn.Linear(time, out)
        self.norm2 = nn.GroupNorm(groups, out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1)
        self.shortcut = nn.Conv2d(channels, out, 1) if channels != out else None

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        """x [batch, channels, side, side], time [batch, time] -> [batch, out, side, side]."""
        y = self.conv1(F.silu(self.norm1(x)))
        y = y + self.time(F.silu(time))[:, :, None, None]
        y = self.conv2(F.silu(self.norm2(y)))
        return y + (x if self.shortcut is None else self.shortcut(x))


class Attention(nn.Module):
    """Attention from the image's positions to a context: the positions or the prompt's tokens."""

    def __init__(self, width: int, context: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(context, width, bias=False)
        self.value = nn.Linear(context, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, context: Tensor) -> Tensor:
        """x [batch, positions, width], context [batch, tokens, context] -> like x."""
        shape = (x.shape[0], -1, self.heads, x.shape[2] // self.heads)
        q = self.query(x).view(shape).transpose(1, 2)
        k = self.key(context).view(shape).transpose(1, 2)
        v = self.value(context).view(shape).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Transformer(nn.Module):
    """Self-attention, cross-attention and a GEGLU layer over the positions of the image."""

    def __init__(self, width: int, context: int, heads: int, groups: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups, width, eps=1e-6)
        self.enter = nn.Conv2d(width, width, 1)
        self.self_norm = nn.LayerNorm(width)
        self.self_attention = Attention(width, width, heads)
        self.cross_norm = nn.LayerNorm(width)
        self.cross_attention = Attention(width, context, heads)
        self.up_norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 8 * width)  # value and gate, 4·width each
        self.down = nn.Linear(4 * width, width)
        self.leave = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor, context: Tensor) -> Tensor:
        """x [batch, width, side, side], context [batch, tokens, context] -> like x."""
        batch, width, height, across = x.shape
        y = self.enter(self.norm(x)).permute(0, 2, 3, 1).reshape(batch, -1, width)
        normed = self.self_norm(y)
        y = y + self.self_attention(normed, normed)
        y = y + self.cross_attention(self.cross_norm(y), context)
        value, gate = self.up(self.up_norm(y)).chunk(2, dim=-1)
        y = y + self.down(value * F.gelu(gate))
        y = y.reshape(batch, height, across, width).permute(0, 3, 1, 2).contiguous()
        return x + self.leave(y)


class Step(nn.Module):
    """A residual block, followed by a transformer unless `heads` is 0."""

    def __init__(
        self, channels: int, out: int, time: int, context: int, heads: int, groups: int
    ) -> None:
        super().__init__()
        self.block = ResBlock(channels, out, time, groups)
        self.transformer = Transformer(out, context, heads, groups) if heads else None

    def forward(self, x: Tensor, time: Tensor, context: Tensor) -> Tensor:
        """x [batch, channels, side, side] -> [batch, out, side, side]."""
        x = self.block(x, time)
        return x if self.transformer is None else self.transformer(x, context)


class Grow(nn.Module):
    """Doubles the side by repeating each position, and smooths by a convolution."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, width, side, side] -> [batch, width, 2·side, 2·side]."""
        return self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))


class UNet(nn.Module):
    """Predicts the noise in a latent image from its timestep and the prompt's embedding.

    The deepest of `widths` has no attention. `latent` must be a multiple of 2^(stages - 1).
    """

    def __init__(
        self,
        widths: tuple[int, ...] = (320, 640, 1280, 1280),
        blocks: int = 2,
        heads: int = 8,
        groups: int = 32,
        latent: int = 64,
        channels: int = 4,
        context_width: int = 768,
        context_tokens: int = 77,
    ) -> None:
        super().__init__()
        self.latent, self.channels = latent, channels
        self.context_width, self.context_tokens = context_width, context_tokens
        self.width = widths[0]
        time = 4 * widths[0]
        last = len(widths) - 1

        def step(inputs: int, stage: int) -> Step:
            stage_heads = heads if stage < last else 0
            return Step(inputs, widths[stage], time, context_width, stage_heads, groups)

        self.time = nn.Sequential(nn.Linear(widths[0], time), nn.SiLU(), nn.Linear(time, time))
        self.enter = nn.Conv2d(channels, widths[0], 3, padding=1)
        skips = [widths[0]]  # channels of each activation that the upward path concatenates
        self.down = nn.ModuleList()
        for stage, width in enumerate(widths):
            for _ in range(blocks):
                self.down.append(step(skips[-1], stage))
                skips.append(width)
            if stage < last:
                self.down.append(nn.Conv2d(width, width, 3, stride=2, padding=1))
                skips.append(width)
        width = widths[-1]
        self.middle = Step(width, width, time, context_width, heads, groups)
        self.middle_block = ResBlock(width, width, time, groups)
        self.up = nn.ModuleList()
        for stage in reversed(range(len(widths))):
            for _ in range(blocks + 1):
                self.up.append(step(width + skips.pop(), stage))
                width = widths[stage]
            if stage:
                self.up.append(Grow(width))
        self.norm = nn.GroupNorm(groups, width)
        self.leave = nn.Conv2d(width, channels, 3, padding=1)

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """Latents [batch, channels, latent, latent], timesteps [batch], context [batch, tokens, d].

        Training adds the noise to predict, like the latents; `seq` is ignored.
        """
        dtype = self.enter.weight.dtype
        shape = (batch, self.channels, self.latent, self.latent)
        context = torch.randn(batch, self.context_tokens, self.context_width, dtype=dtype)
        inputs = (torch.randn(shape, dtype=dtype), torch.randint(0, 1000, (batch,)), context)
        return (*inputs, torch.randn(shape, dtype=dtype)) if training else inputs

    def forward(
        self, x: Tensor, timesteps: Tensor, context: Tensor, labels: Tensor | None = None
    ) -> Tensor | Output:
        """x [batch, channels, latent, latent] -> the predicted noise, the same shape."""
        time = self.time(timestep_embedding(timesteps, self.width).to(x.dtype))
        x = self.enter(x)
        skips = [x]
        for part in self.down:
            x = part(x, time, context) if isinstance(part, Step) else part(x)
            skips.append(x)
        x = self.middle_block(self.middle(x, time, context), time)
        for part in self.up:
            if isinstance(part, Step):
                x = part(torch.cat((x, skips.pop()), dim=1), time, context)
            else:
                x = part(x)
        noise = self.leave(F.silu(self.norm(x)))
        if labels is None:
            return noise
        return Output(noise, F.mse_loss(noise.float(), labels.float()))
