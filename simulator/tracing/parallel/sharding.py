"""FSDP2 of a network by name. Its import is slow, because torch's FSDP2 imports DTensor."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard

from simulator.cluster.layout import Layout


def shard(module: nn.Module, parts: list[Any], mesh: DeviceMesh, layout: Layout) -> None:
    """Shard each of `parts`, the blocks of `module`, separately, and all other modules together."""
    for block in parts:
        fully_shard(block, mesh=mesh, reshard_after_forward=layout.reshard)
    fully_shard(module, mesh=mesh)
    if layout.prefetch:
        for order, ahead in (
            (parts, "set_modules_to_forward_prefetch"),
            (parts[::-1], "set_modules_to_backward_prefetch"),
        ):
            for place, block in enumerate(order):
                getattr(block, ahead)(order[place + 1 : place + 1 + layout.prefetch])
