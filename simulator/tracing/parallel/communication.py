"""The collective of an op of torch.distributed: its kind, bytes and group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import (
    _resolve_process_group as resolve,  # pyright: ignore
)
from torch.utils._pytree import tree_leaves

from simulator.records import Collective

KINDS = {
    "allreduce": "all_reduce", "all_reduce": "all_reduce",
    "allgather": "all_gather", "_allgather_base": "all_gather", "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter", "_reduce_scatter_base": "reduce_scatter",
    "alltoall": "all_to_all", "all_to_all": "all_to_all",
    "broadcast": "broadcast", "reduce_": "broadcast", "gather_": "all_gather",
    "scatter_": "all_to_all",
    "send": "send", "isend": "send", "recv": "recv", "irecv": "recv", "barrier": "barrier",
}  # fmt: skip
"""The kind of a collective by a prefix of the op's name; the longest match counts."""


def is_collective(func: Any) -> bool:
    """Whether an op communicates."""
    if func.namespace == "_c10d_functional":
        return "wait_tensor" not in func.__name__ and "_wrap_tensor" not in func.__name__
    return func.namespace == "c10d" and "check_for_nan" not in func.__name__


def kind_of(func: Any) -> str:
    """The kind of a collective op. Raises ValueError if the op is not a collective."""
    name = func._schema.name.split("::")[1]
    return KINDS[max((prefix for prefix in KINDS if name.startswith(prefix)), key=len)]


def collective(
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    rank: int,
    batch: int | None,
    where: str,
) -> Collective:
    """The communication of a call, seen from `rank`."""
    arguments = _arguments(func, args, kwargs)
    kind = kind_of(func)
    group = _group(arguments)
    ranks = tuple(dist.get_process_group_ranks(group))
    if kind in ("send", "recv"):
        peer = ranks[int(arguments.get("dst", arguments.get("src", 0)))]
        ranks = (rank, peer)
    return Collective(kind, _BYTES.get(kind, _largest)(arguments, result), ranks, batch, where)


def runs_async(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether NCCL runs a call on its own stream, so that the program waits for the call later."""
    if func.namespace == "_c10d_functional":
        return True
    return bool(_arguments(func, args, kwargs).get("async_op", True))


def _arguments(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their names in the schema."""
    names = (argument.name for argument in func._schema.arguments)
    return dict(zip(names, args, strict=False)) | kwargs


def _group(arguments: dict[str, Any]) -> Any:
    if "group_name" in arguments:
        name = arguments["group_name"]
        return resolve(name) if isinstance(name, str) else name  # pyright: ignore
    boxed = arguments["process_group"]
    return dist.ProcessGroup.unbox(boxed) if isinstance(boxed, torch.ScriptObject) else boxed


def _bytes(value: Any) -> int:
    tensors = [t for t in tree_leaves(value) if isinstance(t, torch.Tensor)]
    return sum(t.numel() * t.element_size() for t in tensors)


def _largest(arguments: dict[str, Any], result: Any) -> int:
    """The larger of all inputs and all outputs: the gathered or the unscattered array."""
    sizes = [_bytes(v) for name, v in arguments.items() if name != "process_group"]
    return max([*sizes, _bytes(result)])


_BYTES: dict[str, Callable[[dict[str, Any], Any], int]] = {"barrier": lambda arguments, result: 4}
