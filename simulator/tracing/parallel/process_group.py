"""A process group without peers, and the objects that ranks send each other."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d
from torch.nn.parallel import distributed as ddp
from torch.testing._internal.distributed.fake_pg import FakeStore

from simulator.errors import InputError
from simulator.tracing.substituted import substituted


@dataclass
class Mail:
    """Objects (mostly shapes) that ranks send each other, stored until the receiver is traced; by
    sender and receiver."""

    sent: dict[tuple[int, int], list[list[Any]]] = field(
        default_factory=dict[tuple[int, int], list[list[Any]]]
    )


@contextmanager
def fake_process_group(rank: int, world_size: int, gpus_per_node: int) -> Generator[None]:
    """Initialize a default process group without peers, whatever backend the program chooses.

    Raises InputError if a process group exists already.
    """
    environment = {
        "RANK": str(rank),
        "WORLD_SIZE": str(world_size),
        "LOCAL_RANK": str(rank % gpus_per_node),
        "LOCAL_WORLD_SIZE": str(gpus_per_node),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "0",
    }
    if dist.is_initialized():
        raise InputError(
            "a process group is initialized already: expected none, because all ranks are traced "
            "in this process; call init_process_group() inside make()"
        )

    def init(*args: Any, **kwargs: Any) -> None:
        requested = kwargs.get("world_size", -1)
        if requested not in (-1, world_size):
            raise InputError(
                f"init_process_group(world_size={requested}): the cluster has {world_size} GPUs; "
                "expected the world_size that make() receives"
            )

    new_group = distributed_c10d.new_group

    def fake_group(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device_id", None)
        return new_group(*args, **{**kwargs, "backend": "fake"})

    def no_op(*_: Any, **__: Any) -> None:
        return None

    functions: dict[str, Any] = {
        "init_process_group": init,
        "new_group": fake_group,
        "destroy_process_group": no_op,
        "barrier": no_op,
    }
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world_size)
    try:
        with (
            _environment(environment),
            substituted(dist, **functions, _verify_params_across_processes=no_op),
            substituted(distributed_c10d, **functions, get_backend=lambda *_: "nccl"),
            substituted(ddp, _verify_param_shape_across_processes=no_op),  # there are no values
        ):
            yield
    finally:
        dist.destroy_process_group()


@contextmanager
def _environment(variables: dict[str, str]) -> Generator[None]:
    """Set environment variables, and restore the whole environment afterwards."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def object_messages(rank: int, mail: Mail) -> Generator[None]:
    """Deliver objects from the ranks that sent them to the rank that is traced."""

    def receiver(args: tuple[Any, ...], kwargs: dict[str, Any], plain: str, grouped: str) -> int:
        if kwargs.get(grouped) is not None:
            group = kwargs.get("group") or dist.group.WORLD
            return dist.get_process_group_ranks(group)[kwargs[grouped]]
        return kwargs.get(plain, args[0] if args else None)  # pyright: ignore

    def send(objects: list[Any], *args: Any, **kwargs: Any) -> None:
        to = receiver(args, kwargs, "dst", "group_dst")
        mail.sent.setdefault((rank, to), []).append(list(objects))

    def receive(objects: list[Any], *args: Any, **kwargs: Any) -> int:
        sender = receiver(args, kwargs, "src", "group_src")
        box = mail.sent.get((sender, rank))
        if not box:
            raise InputError(
                f"rank {rank} receives objects that rank {sender} has not sent, because ranks are "
                "traced in order: expected them from a lower rank; give pipeline stages their "
                "input_args and output_args"
            )
        objects[:] = box.pop(0)
        return sender

    def all_gather(objects: list[Any], own: Any, *_: Any, **__: Any) -> None:
        objects[:] = [own] * len(objects)

    functions: dict[str, Any] = {
        "send_object_list": send,
        "recv_object_list": receive,
        "all_gather_object": all_gather,
        "broadcast_object_list": lambda *_, **__: None,
    }
    with substituted(dist, **functions), substituted(distributed_c10d, **functions):
        yield
