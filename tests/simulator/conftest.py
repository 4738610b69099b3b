"""Small networks on `meta`: those of the catalogue, with sizes that trace in 0.1 s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from simulator.networks.catalogue import build

SMALL: dict[str, dict[str, Any]] = {
    "mlp-tiny": dict(width=128, depth=2),
    "bert-base": dict(width=64, layers=2, heads=4, hidden=128, vocab=100, mask=True),
    "gpt2": dict(width=64, layers=2, heads=4, vocab=100),
    "llama3-1b": dict(width=128, layers=2, heads=4, kv_heads=2, hidden=192, vocab=100, tied=True),
    "t5-base": dict(width=64, layers=2, heads=4, hidden=128, vocab=100),
    "vit-b16": dict(width=64, layers=2, heads=4, hidden=128, image=64, classes=10),
    "swin-t": dict(width=16, depths=(2, 2), heads=(2, 2), window=2, image=32, classes=7),
    "resnet18": dict(depths=(1, 1), width=16, image=64, classes=10),
    "convnext-t": dict(widths=(16, 32), depths=(1, 2), image=64, classes=10),
    "mobilenet-v2": dict(image=64, classes=10),
    "convnet-tiny": dict(image=28, channels=8),
    "unet": dict(widths=(16, 32), heads=2, groups=4, latent=16, context_width=12, context_tokens=3),
    "dit-xl": dict(width=64, layers=2, heads=4, latent=16, classes=7),
    "whisper-encoder": dict(width=64, layers=2, heads=4, mels=8, positions=32),
    "dlrm": dict(tables=3, rows=200, width=16, bottom=(32,), top=(32,)),
    "lstm": dict(width=32, vocab=100),
    "gru": dict(width=32, vocab=100),
    "mamba2-130m": dict(width=64, layers=2, d=16, state=8, chunk=4, vocab=100),
}
SEQ = 16


def small(name: str, training: bool = False, batch: int = 4) -> tuple[nn.Module, tuple[Any, ...]]:
    """A network of this size and its inputs."""
    with torch.device("meta"):
        module = build(name, **SMALL[name])
        inputs = module.example_inputs(batch, SEQ, training=training)  # pyright: ignore
    return module, inputs


class Calls(nn.Module):
    """A network whose forward pass is the given function; `w` [4, 4] and `b` [4] are its
    parameters."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.w = nn.Parameter(torch.ones(4, 4))
        self.b = nn.Parameter(torch.ones(4))

    def forward(self, *args: Tensor) -> Any:
        return self.function(self, *args)
