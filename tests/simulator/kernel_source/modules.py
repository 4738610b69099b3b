"""Small modules whose compiled steps have one or a few fused groups."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import predict
from simulator.fusion import Fused
from simulator.kernel_source import FusedGroup, fused_group


class Function(nn.Module):
    """A module that applies a function to its inputs."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> object:
        return self.function(*inputs)


class AddNorm(nn.Module):
    """A module that returns the norm of a sum, and the sum."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        total = x + y
        return self.norm(total), total


class Looked(nn.Module):
    """The normalised sum of token and position embeddings."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(11, width), nn.Embedding(32, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.norm(self.tokens(tokens) + self.places(places))


def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    return F.gelu(x + bias)


def tanh_gelu(x: Tensor, bias: Tensor) -> Tensor:
    return F.gelu(x + bias, approximate="tanh")


def swiglu(x: Tensor) -> Tensor:
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate) * up


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.softmax(scores * 0.125 + mask, dim=-1)


def log_of_sums(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.logsumexp(scores * 0.125 + mask, dim=-1)


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    turned = torch.cat((x[..., :half], -x[..., half:]), dim=-1)
    return x.transpose(1, 2) * cos + turned.transpose(1, 2) * sin


def column_means(x: Tensor) -> Tensor:
    return (x * x).mean(dim=(0, 2))


def centred(x: Tensor) -> Tensor:
    return (x - x.mean(dim=1, keepdim=True)) / (x.amax(dim=1, keepdim=True) + 9.0)


def flags(x: Tensor, keep: Tensor) -> Tensor:
    return torch.where(keep & (x > 0.25), x.clamp(-1.0, 1.0), x.abs() * 2 + 1).to(torch.float16)


def padded(x: Tensor) -> Tensor:
    return torch.roll(F.pad(x, (1, 2)) * 3, 2, dims=-1) + 1


def joined(x: Tensor, y: Tensor) -> Tensor:
    turned = (x * 2).transpose(1, 2).reshape(x.shape[0], -1)
    return F.pad(torch.cat((y + 1, turned), dim=1), (2, 1)) * 0.5


def triangle(x: Tensor) -> Tensor:
    return torch.tril(x.exp()).transpose(-1, -2).contiguous()


def log_softmax(x: Tensor) -> Tensor:
    return F.log_softmax(x, dim=-1)


class Classified(nn.Module):
    """The loss of a layer's classes."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 21)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(self.layer(x), target)


def compiled(
    module: nn.Module | Callable[..., object], *inputs: Tensor, phase: str = "inference"
) -> Fused:
    """The groups of a step."""
    module = module if isinstance(module, nn.Module) else Function(module)
    options = {"loss": lambda out: out.float().square().sum()} if phase == "training" else {}
    prediction = predict(
        module.eval(), inputs, mode="compiled", phase=phase, optimizer=None, **options
    )
    assert prediction.fusion is not None
    return prediction.fusion


def numbers(step: Fused) -> list[int]:
    """The indices of the groups that are not library calls."""
    return [number for number, group in enumerate(step.groups) if not group.library]


def only(module: nn.Module | Callable[..., object], *inputs: Tensor) -> FusedGroup:
    """The one group of a step."""
    prediction = compiled(module, *inputs)
    [number] = numbers(prediction)
    return fused_group(prediction, number)
