"""One rank's program of each step over several GPUs, and the program of the same step on one
GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from calibration.cases.case import Case, Step
from calibration.cases.steps.parallel import ParallelStep

Call = Callable[[], Any]
Reduce = Callable[[torch.Tensor], object]


def twin(split_step: ParallelStep) -> Call:
    """The step on one GPU; for a pipeline, all blocks, with gradients accumulated over the same
    micro-batches."""
    if split_step.how == "pipeline":
        return accumulated(split_step.case, split_step.microbatches)
    return (
        captured(Step(split_step.case, "cuda"))
        if split_step.graph
        else Step(split_step.case, "cuda")
    )


def spread(split_step: ParallelStep, rank: int, ranks: int) -> Call:
    """One rank's part of the step."""
    if split_step.how == "pipeline":
        return pipelined(split_step.case, rank, ranks, split_step.microbatches)
    step = Step(split_step.case, "cuda")
    split(split_step.how, step, ranks)
    return captured(step) if split_step.graph else step


def captured(call: Call) -> Call:
    """A replay of the CUDA graph of a call.

    The replay holds the call: the graph reads its tensors, whose memory must not be reused.
    """
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()

    def replay() -> Call:
        graph.replay()
        return call

    return replay


def blocks(module: nn.Module) -> list[nn.Module]:
    """The repeated blocks of a network: the members of its longest module list."""
    lists = [m for m in module.modules() if isinstance(m, nn.ModuleList | nn.Sequential)]
    longest = max(lists, key=len, default=nn.ModuleList())
    return list(longest)


def split(how: str, step: Step, ranks: int, reduce: Reduce | None = None) -> None:
    """Turn a step into one rank's part of the split, in place. `reduce` replaces the all-reduce of
    tensor parallelism."""
    if how == "ddp":
        step.run = DistributedDataParallel(
            step.module, device_ids=[torch.cuda.current_device()], gradient_as_bucket_view=True
        )
    elif how == "fsdp":
        mesh = init_device_mesh("cuda", (ranks,))
        for block in blocks(step.module):
            fully_shard(block, mesh=mesh)
        fully_shard(step.module, mesh=mesh)
        if step.optimizer is not None:
            step.optimizer = torch.optim.AdamW(step.module.parameters(), lr=1e-5)
            step.update = step.optimizer.step
    elif how == "tensor":
        tensor_parallel(step.module, ranks, reduce)
        # inputs of four dimensions are caches, whose heads are split
        step.inputs = tuple(
            x[:, : x.shape[1] // ranks].clone() if x.dim() == 4 else x for x in step.inputs
        )
    elif how == "experts":
        for child in step.module.modules():
            if isinstance(child, nn.Linear):
                child.register_forward_pre_hook(_exchanged_input)
                child.register_forward_hook(_exchanged)


def tensor_parallel(module: nn.Module, ranks: int, reduce: Reduce | None = None) -> None:
    """Megatron's split by hand: first linear layers by column, last ones by row, with an all-reduce
    (or `reduce`) after each last one."""

    def reduced(module: nn.Module, args: Any, out: torch.Tensor) -> torch.Tensor:
        reduce(out) if reduce else dist.all_reduce(out)
        return out

    for name, child in module.named_modules():
        last = name.rsplit(".", 1)[-1]
        if not isinstance(child, nn.Linear):
            continue
        if last in ("query", "key", "value", "gate", "up"):
            child.weight = nn.Parameter(child.weight[: child.out_features // ranks].clone())
        elif last in ("out", "down"):
            child.weight = nn.Parameter(child.weight[:, : child.in_features // ranks].clone())
            child.register_forward_hook(reduced)


def _exchanged_input(module: nn.Module, args: Any) -> torch.Tensor:
    return _exchanged(module, (), args[0])


def _exchanged(module: nn.Module, args: Any, x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x)
    return out


def _stage(case: Case, rank: int, ranks: int) -> tuple[nn.Module, torch.Tensor]:
    """A pipeline stage: only its blocks, and a batch of inputs for them."""
    parts = blocks(Step(case, "cuda").module)
    each = len(parts) // ranks
    stage = nn.Sequential(*parts[rank * each : (rank + 1) * each]).cuda()
    width = next(p for p in parts[0].parameters() if p.dim() == 1).numel()
    return stage, torch.randn(case.batch, case.seq, width, device="cuda", dtype=torch.bfloat16)


def _loss(out: torch.Tensor, _: Any) -> torch.Tensor:
    return out.float().pow(2).mean()


def pipelined(case: Case, rank: int, ranks: int, microbatches: int) -> Call:
    """A 1F1B step of only the network's blocks, cut into one stage per rank."""
    # needed only for pipelines, and some builds of torch lack them
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    stage, whole = _stage(case, rank, ranks)
    one = whole[: case.batch // microbatches].clone().requires_grad_()
    run = PipelineStage(stage, rank, ranks, torch.device("cuda", rank), input_args=(one,))
    schedule = Schedule1F1B(run, microbatches, loss_fn=_loss)

    def call() -> None:
        stage.zero_grad()
        if rank == 0:
            schedule.step(whole)
        else:
            schedule.step(target=whole)

    return call


def accumulated(case: Case, microbatches: int) -> Call:
    """A step of all blocks on one GPU, micro-batch by micro-batch."""
    stage, whole = _stage(case, 0, 1)

    def call() -> None:
        stage.zero_grad()
        for part in whole.chunk(microbatches):
            (_loss(stage(part), None) / microbatches).backward()

    return call
