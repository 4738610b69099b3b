"""Time steps over all GPUs of this machine beside the same step on one.

`python -m calibration.measure.parallel_steps FILE --seconds 120` writes JSON lines: the machine,
then a line a case with the slowest rank's period, every rank's peak memory, the host's fixed work
beside it, and `collective_s`, the time in NCCL kernels by the profiler (a rank that waits counts
too).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import multiprocessing, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from calibration.cases.case import Case, Step
from calibration.measure.host_index import REFERENCE
from calibration.measure.timing import period

PORT = 29542
Call = Callable[[], Any]

STEPS = (
    ("ddp", Case("gpt2", "autocast", "training", 8, 1024, "adamw")),
    ("fsdp", Case("gpt2", "autocast", "training", 8, 1024, "adamw")),
    ("ddp", Case("resnet50", "autocast", "training", 64, 0, "sgd")),
    ("fsdp", Case("llama3-1b", "bf16", "training", 1, 2048, "adamw")),
    ("tensor", Case("llama3-1b", "bf16", "inference", 4, 1024)),
    ("pipeline", Case("gpt2-xl", "bf16", "training", 8, 512)),
    ("ddp", Case("bert-base", "fp32", "training", 16, 128, "adamw")),
    ("fsdp", Case("gpt2-xl", "bf16", "training", 2, 1024, "adamw")),
    ("ddp", Case("mlp-wide", "bf16", "training", 1024, 0, "sgd")),
    ("ddp", Case("vit-b16", "autocast", "training", 64, 0, "adamw")),
    ("ddp", Case("mlp-tiny", "fp32", "training", 32, 0, "sgd")),
    ("tensor", Case("llama3-1b", "bf16", "inference", 1, 128)),
)
"""How a step is split, and its case on each GPU (DDP and FSDP: the same batch on each)."""


def blocks(module: nn.Module) -> list[nn.Module]:
    """The repeated blocks of a network: the members of its longest module list."""
    lists = [m for m in module.modules() if isinstance(m, nn.ModuleList | nn.Sequential)]
    longest = max(lists, key=len, default=nn.ModuleList())
    return list(longest)


def split(how: str, step: Step, ranks: int) -> None:
    """Make a step one rank's share of the split, in place."""
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
        tensor_parallel(step.module, ranks)


def tensor_parallel(module: nn.Module, ranks: int) -> None:
    """Megatron's split by hand: first linear layers by column, last ones by row, an all-reduce
    after each of the latter."""
    for name, child in module.named_modules():
        last = name.rsplit(".", 1)[-1]
        if not isinstance(child, nn.Linear):
            continue
        if last in ("query", "key", "value", "gate", "up"):
            child.weight = nn.Parameter(child.weight[: child.out_features // ranks].clone())
        elif last in ("out", "down"):
            child.weight = nn.Parameter(child.weight[:, : child.in_features // ranks].clone())
            child.register_forward_hook(_all_reduced)


def _all_reduced(module: nn.Module, args: Any, out: torch.Tensor) -> torch.Tensor:
    dist.all_reduce(out)
    return out


def pipelined(case: Case, rank: int, ranks: int, microbatches: int) -> Call:
    """A 1F1B step of the network's blocks alone, cut into as many stages as there are ranks."""
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    step = Step(case, "cuda")
    parts = blocks(step.module)
    each = len(parts) // ranks
    stage = nn.Sequential(*parts[rank * each : (rank + 1) * each]).cuda()
    width = next(p for p in parts[0].parameters() if p.dim() == 1).numel()
    whole = torch.randn(case.batch, case.seq, width, device="cuda", dtype=torch.bfloat16)
    one = whole[: case.batch // microbatches].clone().requires_grad_()
    run = PipelineStage(stage, rank, ranks, torch.device("cuda", rank), input_args=(one,))
    schedule = Schedule1F1B(run, microbatches, loss_fn=lambda out, _: out.float().pow(2).mean())
    del step

    def call() -> None:
        stage.zero_grad()
        if rank == 0:
            schedule.step(whole)
        else:
            schedule.step(target=whole)

    return call


def timed(call: Call) -> dict[str, Any]:
    """Period of the slowest rank over blocks of steps that begin together, and peak memory."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    call()
    torch.cuda.synchronize()
    count = max(4, min(60, int(agreed(0.4 / (time.perf_counter() - began)))))
    periods: list[float] = []
    for _ in range(3):
        dist.barrier()
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(count):
            call()
        torch.cuda.synchronize()
        periods.append(agreed((time.perf_counter() - began) / count))
    peaks: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(peaks, torch.cuda.max_memory_allocated())
    return {"period_s": sorted(periods)[1], "periods_s": periods, "peak_bytes": peaks}


def agreed(value: float) -> float:
    """The largest of all ranks' values."""
    each = torch.tensor([value], device="cuda", dtype=torch.float64)
    dist.all_reduce(each, op=dist.ReduceOp.MAX)
    return float(each)


def collective_s(call: Call) -> dict[str, float]:
    """GPU seconds a step by kind of NCCL kernel, and of all other kernels."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(2):
            call()
        torch.cuda.synchronize()
    sums: dict[str, float] = {}
    for event in profiler.events() or ():
        name = event.name.split("(")[0] if "nccl" in event.name else "other"
        sums[name] = sums.get(name, 0.0) + event.device_time * 1e-6 / 2
    return sums


def measure(rank: int, ranks: int, path: str, until: float) -> None:
    """A process: one GPU, one rank."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT), NCCL_NVLS_ENABLE="0")
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl",
        rank=rank,
        world_size=ranks,
        device_id=torch.device("cuda", rank),
        timeout=timedelta(seconds=40),
    )
    for how, case in STEPS:
        if agreed(float(time.time() > until)):
            break
        row: dict[str, Any] = {"how": how, "case": case.record(), "ranks": ranks}
        try:
            if how == "pipeline":
                call: Call = pipelined(case, rank, ranks, 4)
            else:
                step: Any = Step(case, "cuda")
                row["one_gpu"] = timed(step)
                step.module.zero_grad()
                split(how, step, ranks)
                call = step
            row |= timed(call) | {"kernels_s": collective_s(call)}
            host = period(Step(REFERENCE, "cpu"), 0.1, device="cpu").median_s
            row["host_reference_s"] = float(f"{host:.5g}")
        except Exception as error:  # a case may raise anything; all ranks raise alike
            row["failed"] = f"{type(error).__name__}: {str(error)[:300]}"
        if rank == 0:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(how, case.name, row.get("failed") or row["period_s"], flush=True)
        call = step = None  # pyright: ignore
        torch.cuda.empty_cache()
    dist.destroy_process_group()


def main() -> None:
    """Measure until the time is over."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    asked = parser.parse_args()
    ranks = torch.cuda.device_count()
    machine = {"gpu": torch.cuda.get_device_name(), "ranks": ranks, "torch": torch.__version__}
    asked.file.write_text(json.dumps({"machine": machine}) + "\n", "utf-8")
    multiprocessing.spawn(  # pyright: ignore
        measure, (ranks, str(asked.file), time.time() + asked.seconds), ranks
    )


if __name__ == "__main__":
    main()
