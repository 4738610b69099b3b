"""A network, given by its name, spread over ranks as a program for `predict_step`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from simulator.cluster.layout import Layout
from simulator.errors import InputError
from simulator.networks.loading import load
from simulator.tracing.step import OPTIMIZERS

_COLUMNS = ("query", "key", "value", "gate", "up")
_ROWS = ("out", "down")
_AUTOCAST = {"autocast": torch.bfloat16, "autocast-fp16": torch.float16}


@dataclass(frozen=True)
class NetworkStep:
    """A step of a network; `batch` is that of one GPU, or of one tensor-parallel group."""

    network: str
    batch: int | None = None
    seq: int | None = None
    dtype: str = "fp32"
    training: bool = False
    optimizer: str | None = "adamw"
    sizes: Mapping[str, Any] = field(default_factory=dict[str, Any])


def program(step: NetworkStep, layout: Layout) -> Callable[[int, int], Callable[[], object]]:
    """`make(rank, world_size)` for a step under a layout. Raises InputError if the network cannot
    be split that way."""
    if layout.pp > 1:
        raise InputError(
            f"pp = {layout.pp}: a network given by name is not cut into stages: expected pp=1; "
            "write make(rank, world_size) with torch.distributed.pipelining and call predict_step"
        )

    def make(rank: int, world_size: int) -> Callable[[], object]:
        dtype = "fp32" if step.dtype in _AUTOCAST else step.dtype
        loaded = load(
            step.network,
            batch=step.batch,
            seq=step.seq,
            dtype=dtype,
            training=step.training,
            sizes=step.sizes,
        )
        module = loaded.module.train(step.training)
        run: nn.Module = module
        mesh = init_device_mesh("cuda", (layout.dp, layout.tp), mesh_dim_names=("dp", "tp"))
        if layout.tp > 1:
            _split(module, mesh["tp"].get_group(), layout.tp)
        if layout.fsdp and layout.dp > 1:
            for block in blocks(module):
                fully_shard(block, mesh=mesh["dp"])
            fully_shard(module, mesh=mesh["dp"])
        elif layout.dp > 1 and step.training:
            run = DistributedDataParallel(
                module,
                device_ids=[torch.cuda.current_device()],
                process_group=mesh["dp"].get_group(),
                gradient_as_bucket_view=True,
            )
        return _training_or_inference(step, run, loaded.args, loaded.kwargs)

    return make


def _training_or_inference(
    step: NetworkStep, run: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]
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

    def train() -> object:
        output = forward()
        loss = getattr(output, "loss", None)
        if not isinstance(loss, torch.Tensor):
            loss = output.float().pow(2).mean()
        loss.backward()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()
        return None

    return train


def blocks(module: nn.Module) -> list[nn.Module]:
    """The repeated blocks of a network: the members of its longest module list."""
    lists = [m for m in module.modules() if isinstance(m, nn.ModuleList | nn.Sequential)]
    return list(max(lists, key=len, default=nn.ModuleList()))


def _split(module: nn.Module, group: dist.ProcessGroup, ranks: int) -> None:
    """Split in place as Megatron does (Shoeybi et al. 2019): the first linear layers by column, the
    last ones by row, with an all-reduce after the latter and one of the gradient before the
    former. Raises InputError if the module does not fit."""
    parents: list[nn.Module] = []
    for path, child in module.named_modules():
        first = [c for n, c in child.named_children() if n in _COLUMNS and isinstance(c, nn.Linear)]
        last = [c for n, c in child.named_children() if n in _ROWS and isinstance(c, nn.Linear)]
        if not first or not last:
            continue
        if hasattr(child, "heads"):
            raise InputError(
                f"tp = {ranks}: {path} of {type(module).__name__} needs all of its heads: "
                "expected a network of the llama family; write make(rank, world_size) with "
                "parallelize_module and call predict_step"
            )
        head = getattr(child, "d", 1)
        for linear in first:
            _check_divides(path, "heads", linear.out_features // head, ranks)
            _check_divides(path, "out_features", linear.out_features, ranks)
            _set_weight(linear, linear.weight[: linear.out_features // ranks])
            if linear.bias is not None:  # pyright: ignore
                linear.bias = nn.Parameter(linear.bias[: linear.out_features // ranks].clone())
        for linear in last:
            _check_divides(path, "in_features", linear.in_features, ranks)
            _set_weight(linear, linear.weight[:, : linear.in_features // ranks])
            linear.register_forward_hook(lambda _m, _a, out: _AllReduceForward.apply(out, group))
        child.register_forward_pre_hook(
            lambda _m, a: (_AllReduceBackward.apply(a[0], group), *a[1:])
        )
        parents.append(child)
    if not parents:
        raise InputError(
            f"tp = {ranks}: {type(module).__name__} has no linear layers named "
            f"{', '.join(_COLUMNS)} beside {', '.join(_ROWS)}: expected a transformer of the "
            "catalogue; write make(rank, world_size) with parallelize_module and call predict_step"
        )


def _set_weight(linear: nn.Linear, weight: torch.Tensor) -> None:
    linear.weight = nn.Parameter(weight.clone())


def _check_divides(path: str, what: str, size: int, ranks: int) -> None:
    if size % ranks:
        raise InputError(
            f"tp = {ranks} does not divide {what} = {size} of {path}: expected a divisor; choose "
            "another tp"
        )


class _AllReduceForward(torch.autograd.Function):
    """All-reduce forward, identity backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Any) -> torch.Tensor:
        dist.all_reduce(x, group=group)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0], None


class _AllReduceBackward(torch.autograd.Function):
    """Identity forward, all-reduce backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Any) -> torch.Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        grad = grads[0].contiguous()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None
