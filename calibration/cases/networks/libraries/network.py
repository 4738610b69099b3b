"""How a network from a package is described and built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from calibration.cases.networks.packages import Example, Sized

Make = Callable[..., nn.Module]


class Spec(NamedTuple):
    """A network of a package."""

    make: str | Make
    """The class or function, as "module:name", or a function that creates the network."""
    names: tuple[str, ...]
    """The network's arguments."""
    example: Example
    """Tensors for these arguments, given the batch and the length."""
    sizes: Mapping[str, Any] = {}
    """Arguments of `make`, without those that have the package's default."""
    on_cpu: bool = False
    """Whether the constructor reads values of tensors, so that it cannot run on `meta`."""


def imported(path: str) -> Any:
    """The object at "module:name". Raises ImportError if the package is not installed."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def built(spec: Spec, **sizes: Any) -> nn.Module:
    """The network of a description; `sizes` override those of the description."""
    make = imported(spec.make) if isinstance(spec.make, str) else spec.make
    device = torch.get_default_device()
    with torch.device("cpu" if spec.on_cpu else device):
        network: nn.Module = make(**{**spec.sizes, **sizes})
    return Sized(network.to(device), spec.names, spec.example)


def by_name(specs: Mapping[str, Spec]) -> dict[str, Make]:
    """The function that creates each network; its name gets the prefix `lib-`."""
    return {f"lib-{name}": partial(built, spec) for name, spec in specs.items()}


def drawn(*sizes: int) -> Callable[[int], Tensor]:
    """Normal values of shape [batch, *sizes]."""
    return lambda batch: torch.randn(batch, *sizes)


def steps(batch: int) -> Tensor:
    """One step of a diffusion for each sample, of 1000."""
    return torch.randint(0, 1000, (batch,))


def tensors(*each: Callable[[int], Tensor]) -> Example:
    """One tensor of each kind, whose shapes depend on the batch alone."""
    return lambda batch, seq: tuple(tensor(batch) for tensor in each)


def frames(channels: int) -> Example:
    """Normal values of shape [batch, seq, channels]."""
    return lambda batch, seq: (torch.randn(batch, seq, channels),)


def waves(channels: int) -> Example:
    """Normal values of shape [batch, channels, seq]."""
    return lambda batch, seq: (torch.randn(batch, channels, seq),)
