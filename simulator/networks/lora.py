"""LoRA: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models".

Two small matrices A and B are added to a linear layer W: y = W·x + (α/r)·B·(A·x). A and B are
trained; all other parameters are frozen, with neither gradients nor optimizer state.
"""

from __future__ import annotations

from torch import Tensor, nn

from simulator.errors import InputError


class Adapted(nn.Module):
    """A frozen linear layer with adapters of rank `rank`, in its dtype, α = 2·rank, no dropout."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        dtype = base.weight.dtype
        self.down = nn.Linear(base.in_features, rank, bias=False, dtype=dtype)
        self.up = nn.Linear(rank, base.out_features, bias=False, dtype=dtype)
        nn.init.zeros_(self.up.weight)
        self.scale = 2.0

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return self.base(x) + self.up(self.down(x)) * self.scale


def with_lora(network: nn.Module, rank: int, names: tuple[str, ...]) -> nn.Module:
    """The network, frozen, with adapters at every linear layer whose last name is one of `names`.

    The network is changed in place. Raises InputError if no linear layer has one of the names, or
    the rank is less than 1.
    """
    if rank < 1:
        raise InputError(f"lora_rank = {rank}: expected a whole number from 1; correct it")
    linears = {
        path: child for path, child in network.named_modules() if isinstance(child, nn.Linear)
    }
    known = list(dict.fromkeys(path.rpartition(".")[2] for path in linears))
    for name in names:
        if name not in known:
            raise InputError(
                f"lora_modules: no linear layer is named {name!r}: expected {', '.join(known)}; "
                "choose some of them"
            )
    network.requires_grad_(False)
    for path, linear in linears.items():
        parent, _, name = path.rpartition(".")
        if name in names:
            setattr(network.get_submodule(parent), name, Adapted(linear, rank))
    return network
