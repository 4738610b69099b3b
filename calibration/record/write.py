"""Record eager and compiled PyTorch on a GPU: the dispatched ops, the kernels of each, and the time
of a step.

`python -m calibration.record.write FOLDER --suite NAME` writes one JSON line per case to
`FOLDER/NAME.jsonl`, each with the op sequence, the kernels by op, and the step's period, latency,
GPU-busy time and peak memory. It needs a CUDA GPU and PyTorch, nothing else. All cases are timed
before any is profiled, since the profiler's hooks permanently lengthen the launches of a process.
Until then the times are in `FOLDER/NAME.timed.jsonl`. Cases that are already in a file are not run
again, so the same command continues where it was stopped. If GPU time is short, `--spread` orders
the suite so that every prefix covers all kinds, and `--budget 0.4` times each case for 0.4 times as
long.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch._dynamo

from calibration.cases.case import Case
from calibration.cases.suites import SUITES
from calibration.measure.instruments.device import Watch, find, versions
from calibration.measure.instruments.host_index import suite
from calibration.record.profiled import profiled
from calibration.record.times import times

_WHOLE = ("recordings", "host", "validation", "packages", "packages_second", "packages_third",
          "packages_fourth", "packages_fifth", "packages_sixth", "packages_seventh",
          "packages_further", "own", "own_second", "own_fourth", "own_fifth",
          "libraries", "torchvision", "mixtures")  # fmt: skip
"""Suites whose ops are recorded as well."""
_TIMED_SHARE = 0.6
"""The share of the seconds for timing cases; the rest is for profiling."""
Row = dict[str, Any]


def rows(path: Path) -> list[Row]:
    """All complete lines of a file; empty if the file does not exist."""
    whole = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in whole if line.endswith("\n")]


def recorded(path: Path) -> set[str]:
    """The names of the cases in a file."""
    return {row["case"]["name"] for row in rows(path) if "case" in row}


def times_of(path: Path) -> Path:
    """The file of a suite's times until it is profiled."""
    return path.with_suffix(".timed.jsonl")


def planned(suite: str, path: Path, only: str = "", spread: bool = False) -> list[Case]:
    """The cases that remain to be timed: those with names that match `only` and that the files
    lack."""
    cases = list(SUITES[suite])
    if spread:
        random.Random(0).shuffle(cases)
    before = recorded(path) | recorded(times_of(path))
    return [case for case in cases if case.name not in before and re.search(only, case.name)]


def waiting(path: Path) -> Iterator[Row]:
    """The timed cases that are not in the file yet, each after the line of its process. That line
    states that the profiler ran after all timings."""
    written = rows(path)
    begun = [row["host_index"] for row in written if "host_index" in row]
    names = {row["case"]["name"] for row in written if "case" in row}
    process: Row = {}
    for row in rows(times_of(path)):
        if "host_index" in row:
            process = row
        elif row["case"]["name"] not in names:
            if process and process["host_index"] not in begun:
                begun.append(process["host_index"])
                yield {**process, "profiled": "the profiler ran after all cases were timed"}
            yield row


class Pass:
    """One pass over cases, written line by line until the time is up."""

    def __init__(self, path: Path, until: float) -> None:
        self.until = until
        self.out = path.open("a")
        # drop an incomplete last line
        self.out.truncate(path.read_bytes().rfind(b"\n") + 1)

    def write(self, row: Row) -> None:
        self.out.write(json.dumps(row, separators=(",", ":")) + "\n")
        self.out.flush()

    def run(self, case: Row, measure: Callable[[], Row]) -> bool:
        """Write the result of `measure`, or its error; returns False if the time is up."""
        if time.perf_counter() > self.until:
            print("time ran out before", case["name"], flush=True)
            return False
        began = time.perf_counter()
        try:
            row = measure()
        except Exception as error:  # a network may raise any error
            row = {"case": case, "failed": repr(error)[:2000]}
        self.write(row)
        torch._dynamo.reset()
        gc.collect()
        torch.cuda.empty_cache()
        print(f"{time.perf_counter() - began:5.1f} s  {case['name']}: {_summary(row)}", flush=True)
        return True


def _summary(row: Row) -> str:
    if "failed" in row:
        return row["failed"]
    line = f"{row['period']['median_s'] * 1e3:.3f} ms, {row['power_w']} W"
    if "gpu_busy_s" in row:
        line += f", {row['kernels']} kernels, busy {row['gpu_busy_s'] * 1e3:.3f} ms"
    return f"{line}, graph {str(row.get('graph', ''))[:60]}"


def _case(row: Row) -> Case:
    return Case(**{key: value for key, value in row.items() if key != "name"})


def main() -> None:
    """Time a suite, then profile it, and print each case's figures when it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suite", choices=SUITES, default="recordings")
    parser.add_argument("--only", default="", help="regular expression on the case's name")
    parser.add_argument(
        "--seconds", type=float, default=540.0, help="start no case after this time"
    )
    parser.add_argument("--limit", type=int, help="only the first N cases")
    parser.add_argument("--spread", action="store_true", help="spread the kinds over the whole run")
    parser.add_argument(
        "--budget", type=float, default=1.0, help="factor on the measuring time of a case"
    )
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    path: Path = options.folder / f"{options.suite}.jsonl"
    cases = planned(options.suite, path, options.only, options.spread)[: options.limit]
    whole = options.suite in _WHOLE
    device = find()
    watch = Watch(device)
    if cases:
        timing = Pass(times_of(path), began + _TIMED_SHARE * options.seconds)
        machine = {"gpu": device.name, "driver": watch.driver, **versions()}
        timing.write({"machine": machine, "host_index": suite(gpu=True)})
        for case in cases:
            if not timing.run(case.record(), lambda c=case: times(c, watch, whole, options.budget)):
                break
    profiling = Pass(path, began + options.seconds)
    for row in waiting(path):
        if "case" not in row or "failed" in row:
            profiling.write(row)
        elif not profiling.run(row["case"], lambda r=row: profiled(r, _case(r["case"]))):
            break


if __name__ == "__main__":
    main()
