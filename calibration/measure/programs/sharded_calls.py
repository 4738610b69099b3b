"""Time the host in single calls on DTensors, streams and collectives."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

Call = Callable[[], object]
private: Any = torch  # its `_foreach_…` functions
_SIZE = 64


def calls_s(ranks: int) -> dict[str, float]:
    """The median seconds until the host returns from each call, by name. All ranks take part."""
    mesh = init_device_mesh("cuda", (ranks,))
    return {name: _seconds(call) for name, call in _calls(mesh).items()}


def _seconds(call: Call, rounds: int = 15, times: int = 8) -> float:
    for _ in range(5):
        call()
    each: list[float] = []
    for _ in range(rounds):
        dist.barrier()
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(times):
            call()
        each.append((time.perf_counter() - began) / times)
    torch.cuda.synchronize()
    return round(float(np.median(each)), 9)


def _calls(mesh: DeviceMesh) -> dict[str, Call]:
    calls: dict[str, Call] = {}
    for count in (4, 16, 64):
        plain = [torch.randn(_SIZE, _SIZE, device="cuda") for _ in range(count)]
        other = [torch.rand_like(x) for x in plain]
        sharded = [distribute_tensor(x, mesh, [Shard(0)]) for x in plain]
        more = [distribute_tensor(x, mesh, [Shard(0)]) for x in other]
        lists: Any = (("plain", plain, other), ("dtensor", sharded, more))
        for kind, a, b in lists:
            calls |= {
                f"foreach_add {kind} {count}": lambda a=a, b=b: private._foreach_add_(a, b),
                f"foreach_mul {kind} {count}": lambda a=a: private._foreach_mul_(a, 1.0),
                f"foreach_sqrt {kind} {count}": lambda b=b: private._foreach_sqrt(b),
                f"foreach_lerp {kind} {count}": lambda a=a, b=b: private._foreach_lerp_(a, b, 0.1),
                f"foreach_addcmul {kind} {count}": lambda a=a, b=b: private._foreach_addcmul_(
                    a, b, b, 0.1
                ),
                f"adamw {kind} {count}": _optimizer(a, b),
            }
        calls[f"split_copy {count}"] = _split_copy(count)
    x = torch.randn(_SIZE, _SIZE, device="cuda")
    y = distribute_tensor(x, mesh, [Shard(0)])
    calls |= {
        "add plain": lambda: x.add_(1.0),
        "add dtensor": lambda: y.add_(1.0),
        "to_local": y.to_local,
        "detach dtensor": y.detach,
    }
    return calls | _streams() | _collectives(mesh.size())


def _optimizer(weights: list[torch.Tensor], grads: list[torch.Tensor]) -> Call:
    parameters = [torch.nn.Parameter(w) for w in weights]
    for parameter, grad in zip(parameters, grads, strict=True):
        parameter.grad = grad
    return torch.optim.AdamW(parameters, lr=1e-5).step


def _split_copy(count: int) -> Call:
    sizes = [_SIZE * _SIZE] * count
    whole = torch.randn(2, sum(sizes), device="cuda")
    parts = [torch.empty(2, n, device="cuda") for n in sizes]
    return lambda: torch.split_with_sizes_copy(whole, sizes, dim=1, out=parts)


def _streams() -> dict[str, Call]:
    side, event = torch.cuda.Stream(), torch.cuda.Event()
    storage = torch.empty(_SIZE * _SIZE, device="cuda").untyped_storage()

    def switched() -> None:
        with torch.cuda.stream(side):
            pass

    def resized() -> None:
        storage.resize_(0)
        storage.resize_(4 * _SIZE * _SIZE)

    return {
        "stream": switched,
        "event": lambda: event.record(),
        "new event": lambda: torch.cuda.current_stream().record_event(),
        "wait_event": lambda: torch.cuda.current_stream().wait_event(event),
        "wait_stream": lambda: side.wait_stream(torch.cuda.current_stream()),
        "resize twice": resized,
    }


def _collectives(ranks: int) -> dict[str, Call]:
    torch_2_11: Any = dist  # newer versions have other names for these two
    x = torch.randn(_SIZE * _SIZE, device="cuda")
    whole = torch.randn(ranks * _SIZE * _SIZE, device="cuda")

    def waited() -> None:
        work: Any = torch_2_11.all_gather_into_tensor(whole, x, async_op=True)
        work.wait()

    return {
        "all_reduce": lambda: dist.all_reduce(x),
        "all_gather": lambda: torch_2_11.all_gather_into_tensor(whole, x),
        "all_gather async": lambda: torch_2_11.all_gather_into_tensor(whole, x, async_op=True),
        "all_gather waited": waited,
        "reduce_scatter": lambda: torch_2_11.reduce_scatter_tensor(x, whole),
    }
