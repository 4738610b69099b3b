"""Memory and host time of the other modes of torch.compile: `python -m
calibration.measure.compile_modes FILE` on a machine with a GPU, about 90 s.

Writes lines of JSON: the host's speed, the allocator's pools after a step (CUDA graphs have their
own), periods of host-bound steps and of the same steps in eager mode, and of replayed steps with
breaks. `measurements/<gpu>/further_modes.jsonl.gz` holds 13 of the 19 lines that follow the host's
line.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from calibration.cases.case import Case, Step, infer, train
from calibration.measure.graph_breaks import measured_s
from calibration.measure.instruments.host_index import suite
from calibration.measure.instruments.timing import latency, period

GRAPHS = "compiled_graphs"
MEMORY = (
    *train("gpt2", "bf16", 4, 512, layers=3),
    *infer("resnet18", "bf16", 128),
    *train("mlp-wide", "bf16", 8192, 0, "sgd"),
)
TIMED = (
    *(replace(c, mode="compiled") for count in (30, 160)
      for c in train("weights", "fp32", 4, by="adamw_compiled", count=count)),
    *(replace(c, mode=GRAPHS) for c in (
        *infer("manyinputs", "fp32", 4, count=160), *infer("weights", "fp32", 4, count=160),
        *train("weights", "fp32", 4, by="sgd", count=30), *infer("layers", "fp32", 4, count=50))),
)  # fmt: skip
Row = dict[str, Any]


def ready(case: Case) -> Step:
    """A step of the case that has run a few times; no other memory is allocated."""
    torch._dynamo.reset()  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]
    gc.collect()
    torch.cuda.empty_cache()
    step = Step(case, "cuda")
    torch.cuda.reset_peak_memory_stats()
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    return step


def memory_of(case: Case) -> Row:
    """Bytes at a step's peak, with and without the first steps; reserved and used bytes of the
    allocator by pool."""
    begin = torch.cuda.memory_allocated()
    step = ready(case)
    first_peak = torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    pools: dict[str, list[int]] = {}
    for segment in torch.cuda.memory_snapshot():
        pool = pools.setdefault(str(tuple(segment["segment_pool_id"])), [0, 0])
        pool[0] += segment["total_size"]
        pool[1] += segment["allocated_size"]
    return {
        "case": case.record(),
        "begin": begin,
        "first_peak": first_peak - begin,
        "peak": torch.cuda.max_memory_allocated() - begin,
        "pools": pools,
    }


def timed(case: Case) -> Row:
    """Periods of a step and of the same step in eager mode."""
    row: Row = {}
    for mode in ("eager", case.mode):
        step = ready(replace(case, mode=mode))
        row[mode] = {
            "period_s": period(step, 0.5).median_s,
            "latency_s": latency(step, 0.15).median_s,
        }
    return {"case": case.record(), "found": row}


def rows() -> Iterator[Row]:
    """Measure the rows one by one, and yield each."""
    yield {"what": "host_index", "host_index": suite(gpu=True)}
    for case in MEMORY:
        for mode in ("eager", "compiled", GRAPHS):
            yield {"what": "memory", **memory_of(replace(case, mode=mode))}
    for case in TIMED:
        yield {"what": "timed", **timed(case)}
    for training in (False, True):
        for breaks in (4, 16):
            seconds = measured_s(breaks, training, "reduce-overhead")
            yield {"what": "broken", "breaks": breaks, "training": training, "period_s": seconds}


def main() -> None:
    """Write each row as soon as it is measured."""
    with Path(sys.argv[1]).open("w") as out:
        for row in rows():
            out.write(json.dumps(row) + "\n")
            out.flush()
            print(json.dumps(row)[:120], flush=True)


if __name__ == "__main__":
    main()
