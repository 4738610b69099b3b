"""One step of a user's distributed program, as one of its ranks runs it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import msgspec
import torch
from torch import nn

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.records import Trace
from simulator.tracing import dynamo
from simulator.tracing.device import META, OnRank
from simulator.tracing.parallel.process_group import Mail, fake_process_group, object_messages
from simulator.tracing.parallel.recorder import RankRecorder
from simulator.tracing.parallel.roles import record_roles, tensor_roles
from simulator.tracing.parallel.stages import static_stage_shapes
from simulator.tracing.parallel.streams import Streams, fake_streams
from simulator.tracing.raising import line_of
from simulator.tracing.simulated_gpu import simulated_gpu
from simulator.tracing.substituted import substituted

Make = Callable[[int, int], Callable[[], object]]
WARM_UPS = 2
"""Steps before the recorded one: optimizers and FSDP2 create their state in the first, and DDP
rebuilds its buckets in the second."""
WARM_UPS_WITHOUT_DDP = 1
"""Steps before the recorded one of a program that does not call DDP, and whose modules do not
change after their first step."""


def trace_rank(
    make: Make,
    rank: int,
    world_size: int,
    gpu: GPU,
    gpus_per_node: int,
    mail: Mail | None = None,
    warm_ups: int = WARM_UPS,
) -> Trace:
    """The ops that rank `rank` of `world_size` dispatches in one step of `make(rank, world_size)`.

    `make` and the first steps run on tensors without memory and are not recorded. Raises
    InputError, with the line of the program, if they cannot be run.
    """
    return _trace(make, rank, world_size, gpu, gpus_per_node, mail or Mail(), warm_ups, True)


def trace_plain_rank(
    make: Make,
    rank: int,
    world_size: int,
    gpu: GPU,
    gpus_per_node: int,
    warm_ups: int = WARM_UPS,
) -> Trace:
    """`trace_rank` of a program without FSDP2, DDP, checkpoints and stages, which import Dynamo.
    Dynamo is imported, and `make` repeated, only if the program fails without it."""
    one_rank = make, rank, world_size, gpu, gpus_per_node, Mail(), warm_ups
    with dynamo.not_imported() as is_avoided:
        if is_avoided:
            try:
                return _trace(*one_rank, False)
            except InputError as error:
                if error.__cause__ is None:  # a refusal, not a failure
                    raise
    return _trace(*one_rank, True)


def _trace(
    make: Make,
    rank: int,
    world_size: int,
    gpu: GPU,
    gpus_per_node: int,
    mail: Mail,
    warm_ups: int,
    imports_dynamo: bool,
) -> Trace:
    streams = Streams()
    recorder = RankRecorder(streams, rank)
    answers = OnRank(recorder, rank % gpus_per_node)
    with ExitStack() as stack:
        stack.enter_context(
            simulated_gpu(
                gpu, recorder, nn.Module(), answers=answers, imports_dynamo=imports_dynamo
            )
        )
        stack.enter_context(fake_streams(streams, gpus_per_node, rank % gpus_per_node))
        stack.enter_context(fake_process_group(rank, world_size, gpus_per_node))
        stack.enter_context(object_messages(rank, mail))
        stack.enter_context(recorder.numbered_batches())
        stack.enter_context(recorder.resized_storages())
        stack.enter_context(static_stage_shapes() if imports_dynamo else nullcontext())
        roles = stack.enter_context(tensor_roles(recorder, answers))
        stack.enter_context(torch.enable_grad())
        with _as_input_error(rank, "make(rank, world_size)"):
            with META, RankRecorder(streams, rank), substituted(nn.init, **_WITHOUT_VALUES):
                step = make(rank, world_size)
            if not callable(step):
                raise InputError(
                    f"make(rank, world_size) returned {type(step).__name__}: expected a callable "
                    "that runs one whole step; return the function itself"
                )
        with _as_input_error(rank, "the step"):
            for _ in range(warm_ups):
                streams.forget()
                with RankRecorder(streams, rank):
                    step()
            streams.forget()
            record_roles(recorder, roles)
            recorder.start()
            with recorder, recorder.counting_python():
                result = step()
    record_roles(recorder, roles)
    _ = result  # the result is alive until here, as in a loop that reads it
    weights = {id(p): p for p in roles.weights.values()}.values()
    trace = Trace(
        ops=recorder.ops,
        storages=recorder.storages.records(),
        phase="training" if any(op.phase != "forward" for op in recorder.ops) else "inference",
        optimizer=roles.optimizer,
        samples=1,
        tokens=None,
        parameters=sum(w.numel() for w in weights),
        weight_bytes=sum(w.numel() * w.element_size() for w in weights),
        assumptions=recorder.assumptions,
        torch_version=str(torch.__version__),
        gpu=gpu.id,
    )
    return msgspec.structs.replace(trace, **recorder.tail())


def _unchanged(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return tensor


_WITHOUT_VALUES = {"_no_grad_trunc_normal_": _unchanged}
"""Since torch 2.13 this draws numbers until all are in range, which never ends without values."""


@contextmanager
def _as_input_error(rank: int, what: str) -> Generator[None]:
    """Turn an error of the program into an InputError with its line."""
    try:
        yield
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise InputError(
            f"rank {rank}: {what} failed: {type(error).__name__}: {error}{line_of(error)}; correct "
            "the program; Ridgepoint runs tensors without data"
        ) from error
