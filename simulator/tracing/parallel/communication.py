"""Which collective an op of torch.distributed is: its kind, its bytes, its group."""

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
"""Our word for a collective by the beginning of the op's name, the longest that fits."""


def is_collective(func: Any) -> bool:
    """Does this op communicate?"""
    if func.namespace == "_c10d_functional":
        return "wait_tensor" not in func.__name__ and "_wrap_tensor" not in func.__name__
    return func.namespace == "c10d" and "check_for_nan" not in func.__name__


def kind_of(func: Any) -> str:
    """The kind of a collective op. KeyError for one that is none."""
    name = func._schema.name.split("::")[1]
    return KINDS[max((known for known in KINDS if name.startswith(known)), key=len)]


def collective(
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    rank: int,
    batch: int | None,
    where: str,
) -> Collective:
    """What this call communicates, seen from `rank`."""
    given = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | kwargs
    kind = kind_of(func)
    group = _group(given)
    ranks = tuple(dist.get_process_group_ranks(group))
    if kind in ("send", "recv"):
        peer = ranks[int(given.get("dst", given.get("src", 0)))]
        ranks = (rank, peer)
    return Collective(kind, _BYTES.get(kind, _largest)(given, result), ranks, batch, where)


def runs_async(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """NCCL runs what is waited for later on a stream of its own, the rest on the current one."""
    if func.namespace == "_c10d_functional":
        return True
    given = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | kwargs
    return bool(given.get("async_op", True))


def _group(given: dict[str, Any]) -> Any:
    if "group_name" in given:
        name = given["group_name"]
        return resolve(name) if isinstance(name, str) else name  # pyright: ignore
    boxed = given["process_group"]
    return dist.ProcessGroup.unbox(boxed) if isinstance(boxed, torch.ScriptObject) else boxed


def _bytes(value: Any) -> int:
    tensors = [t for t in tree_leaves(value) if isinstance(t, torch.Tensor)]
    return sum(t.numel() * t.element_size() for t in tensors)


def _largest(given: dict[str, Any], result: Any) -> int:
    """The larger of all inputs and all outputs: the gathered or the unscattered array."""
    groups = [_bytes(v) for name, v in given.items() if name != "process_group"]
    return max([*groups, _bytes(result)])


_BYTES: dict[str, Callable[[dict[str, Any], Any], int]] = {"barrier": lambda given, result: 4}
