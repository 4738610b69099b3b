"""A network, given by its name, as a program of one rank for `predict_step`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from simulator.cluster.layout import BUCKET_BYTES, Layout
from simulator.cluster.step import NetworkStep
from simulator.networks.loading.load import load
from simulator.tracing.parallel.tensor_split import tensor_split
from simulator.tracing.step import OPTIMIZERS

_DECODES = "-decode"
"""The suffix of the names of networks that take a cache."""
_AUTOCAST = {"autocast": torch.bfloat16, "autocast-fp16": torch.float16}


def program(
    step: NetworkStep, layout: Layout, passes: int = 1
) -> Callable[[int, int], Callable[[], object]]:
    """`make(rank, world_size)` for a step under a layout without pipeline stages, with `passes`
    forward and backward passes per step. Raises InputError if the network cannot be split that
    way."""
    if layout.fsdp and layout.dp > 1:
        # DTensor is imported only for FSDP2, and before the GPU is simulated
        from simulator.tracing.parallel.sharding import shard
    else:
        shard = None

    def make(rank: int, world_size: int) -> Callable[[], object]:
        loaded = load(
            step.network,
            batch=step.batch,
            seq=step.seq,
            dtype="fp32" if step.dtype in _AUTOCAST else step.dtype,
            training=step.training,
            sizes=step.sizes,
        )
        module = loaded.module.train(step.training)
        args = loaded.args
        run: nn.Module = module
        mesh = init_device_mesh("cuda", (layout.dp, layout.tp), mesh_dim_names=("dp", "tp"))
        if layout.tp > 1:
            tensor_split(module, mesh["tp"].get_group(), layout.tp)
            if step.network.endswith(_DECODES):
                args = tuple(_own_heads(each, layout.tp) for each in args)
        if layout.recompute:
            for block in blocks(module)[1]:
                _recomputed(block)
        if shard is not None:
            shard(module, blocks(module)[1], mesh["dp"], layout)
        elif layout.dp > 1 and step.training:
            run = DistributedDataParallel(
                module,
                device_ids=[torch.cuda.current_device()],
                process_group=mesh["dp"].get_group(),
                gradient_as_bucket_view=True,
                bucket_cap_mb=None
                if layout.bucket_bytes == BUCKET_BYTES
                else layout.bucket_bytes / 2**20,
            )
        return _training_or_inference(step, run, args, loaded.kwargs, passes)

    return make


def _recomputed(block: nn.Module) -> None:
    """Run a block's forward pass again in its backward pass."""
    forward = block.forward

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(forward, *args, use_reentrant=False, determinism_check="none", **kwargs)

    block.forward = checkpointed


def _own_heads(tensor: Any, ranks: int) -> Any:
    """A rank's heads of a cache [batch, heads, seq, d]."""
    return tensor[:, : tensor.shape[1] // ranks].clone() if tensor.dim() == 4 else tensor


def _training_or_inference(
    step: NetworkStep,
    run: nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    passes: int,
) -> Callable[[], object]:
    precision = _AUTOCAST.get(step.dtype)

    def forward() -> Any:
        if precision is None:
            return run(*args, **kwargs)
        with torch.autocast("cuda", dtype=precision):
            return run(*args, **kwargs)

    if not step.training:

        def infer() -> object:
            with torch.no_grad():
                return forward()

        return infer
    weights = [w for w in run.parameters() if w.requires_grad]
    optimizer = OPTIMIZERS[step.optimizer](weights) if step.optimizer else None

    def once() -> None:
        output = forward()
        loss = getattr(output, "loss", None)
        if not isinstance(loss, torch.Tensor):
            loss = output.float().pow(2).mean()
        (loss / passes if passes > 1 else loss).backward()

    def train() -> object:
        for _ in range(passes):
            once()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()
        return None

    return train


def blocks(module: nn.Module) -> tuple[str, list[nn.Module]]:
    """The repeated blocks of a network: the path and the members of its longest module list."""
    lists = {
        path: m
        for path, m in module.named_modules()
        if isinstance(m, nn.ModuleList | nn.Sequential)
    }
    path = max(lists, key=lambda each: len(lists[each]), default="")
    return path, list(lists[path]) if lists else []
