"""Compile a share of the functions into Inductor's cache, so that they can be timed in one process.

`python -m calibration.generated.warm SHARE OF --seconds N [--limit N]`: this process compiles every
`OF`-th host case and point, from number `SHARE` on. Nothing is timed here, since many processes
share one GPU.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator

import torch
import torch._dynamo

from calibration.cases.case import Step
from calibration.cases.steps.compiled import COMPILED_HOST
from calibration.measure.run import load, planned
from calibration.sweeps.registry import Point


def jobs(limit: int | None) -> Iterator[tuple[str, Callable[[], object]]]:
    """The jobs by name: the host's cases, which take longest, and then the points."""
    for case in COMPILED_HOST[:limit]:
        yield case.name, lambda case=case: Step(case, "cuda")()
    for point in planned(load("generated", print))[:limit]:
        yield point.name, lambda point=point: _once(point)


def _once(point: Point) -> None:
    with torch.device("cuda"):
        call = point.make()
    call()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("share", type=int)
    parser.add_argument("of", type=int)
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    until = time.perf_counter() + options.seconds
    done = 0
    for name, job in list(jobs(options.limit))[options.share :: options.of]:
        if time.perf_counter() > until:
            print(f"{options.share}: time ran out before {name}", flush=True)
            break
        try:
            job()
        except Exception as error:  # the timing run tries it again and records the error
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        done += 1
        torch._dynamo.reset()
        gc.collect()
        torch.cuda.empty_cache()
    print(f"{options.share}: {done} compiled, {until - time.perf_counter():.0f} s left", flush=True)


if __name__ == "__main__":
    main()
