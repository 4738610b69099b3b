"""One step of a user's distributed program, as one of its ranks runs it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import msgspec
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import distributed_c10d
from torch.nn.modules import module as hooks
from torch.nn.parallel import distributed as ddp
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._pytree import tree_leaves

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.records import Role, Trace
from simulator.tracing.device import META, OnRank
from simulator.tracing.parallel.recorder import RankRecorder
from simulator.tracing.parallel.stages import one_by_one
from simulator.tracing.parallel.streams import Streams, streaming
from simulator.tracing.raising import line_of
from simulator.tracing.step import on_card

_VERIFY = "_verify_param_shape_across_processes"
Make = Callable[[int, int], Callable[[], object]]
WARM_UPS = 2
"""Steps before the one that is recorded: DDP builds its buckets anew in its second, optimizers and
FSDP2 make their state in the first."""


@dataclass
class Mail:
    """Objects that ranks send each other (shapes, mostly), kept until the receiver is traced."""

    sent: dict[tuple[int, int], list[list[Any]]] = field(
        default_factory=dict[tuple[int, int], list[list[Any]]]
    )


def trace_rank(
    make: Make, rank: int, world_size: int, gpu: GPU, gpus_per_node: int, mail: Mail | None = None
) -> Trace:
    """The ops that rank `rank` of `world_size` dispatches in one step of `make(rank, world_size)`.

    `make` and the first steps run on tensors without memory and are not recorded. Raises
    InputError, with the line of the program, when they cannot be run.
    """
    streams = Streams()
    recorder = RankRecorder(streams, rank)
    answers = OnRank(recorder, rank % gpus_per_node)
    with ExitStack() as stack:
        stack.enter_context(on_card(gpu, recorder, nn.Module(), answers=answers))
        stack.enter_context(streaming(streams, gpus_per_node, rank % gpus_per_node))
        stack.enter_context(_world(rank, world_size, gpus_per_node))
        stack.enter_context(_messages(rank, mail or Mail()))
        stack.enter_context(_batches(recorder))
        stack.enter_context(one_by_one())
        seen = stack.enter_context(_roles(recorder, answers))
        stack.enter_context(torch.enable_grad())
        with _blaming(rank, "make(rank, world_size)"):
            with META, RankRecorder(streams, rank):
                step = make(rank, world_size)
            if not callable(step):
                raise InputError(
                    f"make(rank, world_size) returned {type(step).__name__}: expected a callable, "
                    "one whole step; return the function itself"
                )
        with _blaming(rank, "the step"):
            for _ in range(WARM_UPS):
                streams.forget()
                with RankRecorder(streams, rank):
                    step()
            streams.forget()
            _own(recorder, seen)
            recorder.start()
            with recorder, recorder.counting_python():
                result = step()
    _own(recorder, seen)
    _ = result  # alive until here, as in a loop that reads it
    weights = {id(p): p for p in seen.weights.values()}.values()
    trace = Trace(
        ops=recorder.ops,
        storages=recorder.storages(),
        phase="training" if any(op.phase != "forward" for op in recorder.ops) else "inference",
        optimizer=seen.optimizer,
        samples=1,
        tokens=None,
        parameters=sum(w.numel() for w in weights),
        weight_bytes=sum(w.numel() * w.element_size() for w in weights),
        assumptions=recorder.assumptions,
        torch_version=str(torch.__version__),
        gpu=gpu.id,
    )
    return msgspec.structs.replace(trace, **recorder.tail())


@contextmanager
def _world(rank: int, world_size: int, gpus_per_node: int) -> Generator[None]:
    """A default process group without peers, whatever backend the program asks for."""
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
            "a process group is initialized already: expected none, since each rank is traced "
            "here in this process; call init_process_group() inside of make()"
        )

    def init(*args: Any, **kwargs: Any) -> None:
        asked = kwargs.get("world_size", -1)
        if asked not in (-1, world_size):
            raise InputError(
                f"init_process_group(world_size={asked}): the cluster has {world_size} GPUs; "
                "expected world_size as make() is given it"
            )

    new_group = distributed_c10d.new_group

    def fake_group(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device_id", None)
        return new_group(*args, **{**kwargs, "backend": "fake"})

    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world_size)
    try:
        with ExitStack() as stack:
            stack.enter_context(patch.dict(os.environ, environment))
            for module in (dist, distributed_c10d):
                stack.enter_context(patch.object(module, "init_process_group", init))
                stack.enter_context(patch.object(module, "new_group", fake_group))
                stack.enter_context(
                    patch.object(module, "destroy_process_group", lambda *_, **__: None)
                )
                stack.enter_context(patch.object(module, "barrier", lambda *_, **__: None))
            for module in (dist, ddp):  # weights have no data that could differ
                name = "_verify_params_across_processes" if module is dist else _VERIFY
                stack.enter_context(patch.object(module, name, lambda *_, **__: None))
            stack.enter_context(patch.object(distributed_c10d, "get_backend", lambda *_: "nccl"))
            yield
    finally:
        dist.destroy_process_group()


@contextmanager
def _messages(rank: int, mail: Mail) -> Generator[None]:
    """Pass objects from the rank that sent them to the rank that is traced now."""

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
                f"rank {rank} receives objects that rank {sender} has not sent when ranks are "
                "traced in order: expected them from a lower rank; give pipeline stages their "
                "input_args and output_args"
            )
        objects[:] = box.pop(0)
        return sender

    def all_gather(objects: list[Any], own: Any, *_: Any, **__: Any) -> None:
        objects[:] = [own] * len(objects)

    answers: dict[str, Any] = {
        "send_object_list": send,
        "recv_object_list": receive,
        "all_gather_object": all_gather,
        "broadcast_object_list": lambda *_, **__: None,
    }
    with ExitStack() as stack:
        for name, value in answers.items():
            for module in (dist, distributed_c10d):
                stack.enter_context(patch.object(module, name, value))
        yield


@contextmanager
def _batches(recorder: RankRecorder) -> Generator[None]:
    """Number the batches of sends and receives: NCCL runs each as one kernel."""
    real = distributed_c10d.batch_isend_irecv
    count = 0

    def batch(operations: list[Any]) -> list[Any]:
        nonlocal count
        count += 1
        recorder.batch = count
        try:
            return real(operations)
        finally:
            recorder.batch = None

    with ExitStack() as stack:
        for module in (dist, distributed_c10d):
            stack.enter_context(patch.object(module, "batch_isend_irecv", batch))
        yield


@dataclass
class _Seen:
    weights: dict[int, torch.Tensor] = field(default_factory=dict[int, torch.Tensor])
    buffers: dict[int, torch.Tensor] = field(default_factory=dict[int, torch.Tensor])
    state: dict[int, torch.Tensor] = field(default_factory=dict[int, torch.Tensor])
    optimizer: str | None = None


@contextmanager
def _roles(recorder: RankRecorder, answers: OnRank) -> Generator[_Seen]:
    """Learn from what runs which tensors are weights, gradients and an optimizer's state, and which
    phase the step is in."""
    seen = _Seen()
    known: set[int] = set()

    def forward(module: nn.Module, _: Any) -> None:
        was_busy, recorder.busy = recorder.busy, True
        recorder.phase = "forward" if not recorder.backward_depth else recorder.phase
        if id(module) not in known:
            known.add(id(module))
            seen.weights.update((id(p), p) for p in module.parameters(recurse=False))
            seen.buffers.update((id(b), b) for b in module.buffers(recurse=False))
        recorder.busy = was_busy

    def before_update(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        was_busy, recorder.busy = recorder.busy, True
        seen.optimizer = type(optimizer).__name__.lower()
        recorder.phase = "optimizer"
        for group in optimizer.param_groups:
            for p in group["params"]:
                seen.weights[id(p)] = p
                if p.grad is not None and recorder.ops:
                    _own_as(recorder, p.grad, "gradient")
        recorder.busy = was_busy

    def after_update(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        was_busy, recorder.busy = recorder.busy, True
        for leaf in tree_leaves(list(optimizer.state.values())):
            if isinstance(leaf, torch.Tensor):
                seen.state[id(leaf)] = leaf
        recorder.busy = was_busy

    engine = torch.autograd._engine_run_backward  # pyright: ignore
    whole = torch.autograd.backward

    def begin(*args: Any, **kwargs: Any) -> Any:
        recorder.phase = "backward"
        return whole(*args, **kwargs)

    def backward(*args: Any, **kwargs: Any) -> Any:
        recorder.phase = "backward"
        recorder.backward_depth += 1
        try:
            with answers:  # what a function mode calls, as Tensor.backward, runs without it
                return engine(*args, **kwargs)
        finally:
            recorder.backward_depth -= 1

    removable = [
        hooks.register_module_forward_pre_hook(forward),
        register_optimizer_step_pre_hook(before_update),
        register_optimizer_step_post_hook(after_update),
    ]
    try:
        with (
            patch.object(torch.autograd, "_engine_run_backward", backward),
            patch.object(torch.autograd, "backward", begin),
        ):
            yield seen
    finally:
        for each in removable:
            each.remove()


def _own(recorder: RankRecorder, seen: _Seen) -> None:
    roles: list[tuple[Role, dict[int, torch.Tensor]]] = [
        ("weight", seen.weights),
        ("buffer", seen.buffers),
        ("optimizer", seen.state),
    ]
    for role, tensors in roles:
        for tensor in tensors.values():
            _own_as(recorder, tensor, role)


def _own_as(recorder: RankRecorder, tensor: torch.Tensor, role: Role) -> None:
    local = getattr(tensor, "_local_tensor", tensor)
    with contextlib.suppress(NotImplementedError, RuntimeError):
        recorder.own(local, role)


@contextmanager
def _blaming(rank: int, what: str) -> Generator[None]:
    """Turn what the program raises into an InputError with its line."""
    try:
        yield
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise InputError(
            f"rank {rank}: {what} failed: {type(error).__name__}: {error}{line_of(error)}; correct "
            "the program, whose tensors have no data here"
        ) from error
