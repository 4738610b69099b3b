"""Time the host's phases of small steps over all GPUs of this machine, and of the same steps on one
GPU.

`python -m calibration.measure.parallel_phases FILE --seconds 150` writes JSON lines: the machine,
then one line per step of rank 0. The batches are so small that the steps are host-bound.

    forward_s, backward_s, update_s, clear_s, done_s
             as in `calibration.measure.host_phases`; only `forward_s` and `done_s` in inference
    one_gpu  the same figures of the twin on one GPU
    methods  calls and seconds per step of the methods of FSDP2, those that they call included
    peak_blocks
             the largest blocks of memory that an FSDP2 step has in use at its peak
    probes   the host's fixed work before and after (`calibration.measure.instruments.host_probes`)

A line with `calls` has the seconds of single calls on DTensors, streams and collectives.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.distributed.fsdp._fully_shard import _fsdp_param_group as group_module
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
from torch.distributed.fsdp._fully_shard._fsdp_state import FSDPState

from calibration.cases.case import Case, Step
from calibration.cases.steps.parallel import MEDIUM, ParallelStep
from calibration.measure.host_phases import PHASES, phases_s
from calibration.measure.instruments.host_probes import Probes
from calibration.measure.instruments.live_blocks import live_blocks
from calibration.measure.instruments.process_group import join
from calibration.measure.parallel_steps import agreed, emptied
from calibration.measure.programs.parallel_programs import spread, twin
from calibration.measure.programs.sharded_calls import calls_s

PORT = 29642
ROUNDS = 12
_SMALL = (
    ("fsdp", Case("gpt2", "autocast", "training", 1, 32, "adamw")),
    ("fsdp", Case("gpt2", "bf16", "training", 1, 32, "adamw")),
    ("fsdp", Case("bert-base", "bf16", "training", 1, 32, "adamw")),
    ("fsdp", Case("llama3-1b", "bf16", "training", 1, 32, "adamw")),
    ("fsdp", Case("vit-l16", "autocast", "training", 1, 0, "adamw")),
    ("fsdp", Case("gpt2", "bf16", "training", 1, 32, None)),
    ("fsdp", Case("gpt2", "autocast", "training", 1, 32, "adamw", MEDIUM)),
    ("ddp", Case("gpt2", "bf16", "training", 1, 32, "adamw")),
    ("ddp", Case("resnet50", "fp32", "training", 1, 0, "sgd")),
    ("ddp", Case("bert-base", "autocast", "training", 1, 32, "adamw")),
    ("tensor", Case("llama3-1b", "bf16", "inference", 1, 32)),
    ("tensor", Case("llama3-1b-decode", "bf16", "inference", 1, 64)),
)
STEPS = tuple(ParallelStep(how, case) for how, case in _SMALL)
_METHODS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (
        FSDPParamGroup,
        ("unshard", "wait_for_unshard", "reshard", "pre_forward", "post_forward", "pre_backward",
         "post_backward", "finalize_backward", "_backward_prefetch", "_to_sharded",
         "_to_unsharded", "_register_post_backward_hook"),
    ),
    (
        FSDPState,
        ("_pre_forward", "_post_forward", "_pre_backward", "_root_pre_forward",
         "_root_post_backward_final_callback", "_register_pre_backward_hook"),
    ),
    (group_module, ("foreach_all_gather", "foreach_all_gather_copy_out", "foreach_reduce")),
)  # fmt: skip


@contextmanager
def watched() -> Generator[dict[str, list[float]]]:
    """Record how often FSDP2's methods are called and how many seconds the calls take, by name."""
    sums: dict[str, list[float]] = {}
    before: list[tuple[Any, str, Any]] = []
    for owner, names in _METHODS:
        for name in names:
            plain = getattr(owner, name, None)
            if plain is not None:
                before.append((owner, name, plain))
                setattr(owner, name, _timed(plain, sums.setdefault(name, [0, 0.0])))
    try:
        yield sums
    finally:
        for owner, name, plain in before:
            setattr(owner, name, plain)


def _timed(plain: Callable[..., Any], sums: list[float]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        result = plain(*args, **kwargs)
        sums[1] += time.perf_counter() - began
        sums[0] += 1
        return result

    return call


def phases(step: Step) -> list[float]:
    """The seconds of the phases of a step that all ranks begin together."""
    dist.barrier()
    return phases_s(step)


def figures(step: Step) -> dict[str, float]:
    """The median of each phase."""
    for _ in range(4):
        step()
    middle = np.median(np.array([phases(step) for _ in range(ROUNDS)]), axis=0)
    return {name: round(float(s), 8) for name, s in zip(PHASES, middle, strict=True)}


def measured(split_step: ParallelStep, rank: int, ranks: int) -> dict[str, Any]:
    """The phases of a step and of the same step on one GPU, and the methods of FSDP2."""
    probes = Probes("cuda")
    before = probes.seconds()
    alone: Any = twin(split_step)
    row: dict[str, Any] = {"one_gpu": figures(alone)}
    del alone
    emptied()
    step: Any = spread(split_step, rank, ranks)
    row |= figures(step)
    if split_step.how == "fsdp":
        with watched() as sums:
            for _ in range(ROUNDS):
                phases(step)
        if rank == 0:  # the others run the same step, without a record
            row["peak_blocks"] = live_blocks(step)
        else:
            step()
        row["methods"] = {n: [c / ROUNDS, round(s / ROUNDS, 8)] for n, (c, s) in sums.items()}
    return row | {"probes": [before, probes.seconds()]}


def measure(rank: int, ranks: int, path: str, until: float) -> None:
    """Run the measurement of one rank, on one GPU."""
    join(rank, ranks, PORT)
    row: dict[str, Any] = {"calls": calls_s(ranks), "ranks": ranks}
    for place in range(-1, len(STEPS)):
        if agreed(float(time.time() > until)):
            break
        if place >= 0:
            row = {"step": place, **STEPS[place].record(), "ranks": ranks}
            row |= measured(STEPS[place], rank, ranks)
        if rank == 0:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(place, row.get("case", {}).get("name"), flush=True)
        emptied()
    dist.destroy_process_group()


def main() -> None:
    """Measure until the time limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=150.0)
    options = parser.parse_args()
    ranks, until = torch.cuda.device_count(), time.time() + options.seconds
    machine = {"gpu": torch.cuda.get_device_name(), "ranks": ranks, "torch": torch.__version__}
    options.file.write_text(json.dumps({"machine": machine}) + "\n", "utf-8")
    multiprocessing.spawn(measure, (ranks, str(options.file), until), ranks)  # pyright: ignore


if __name__ == "__main__":
    main()
