"""Time generated kernels one by one: `python -m calibration.generated.sweep FOLDER`.

Inductor's cache should be warm (`calibration.generated.warm`), or compiling takes most of the time.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from pathlib import Path

from calibration.generated.bench import GeneratedBench
from calibration.measure.instruments import host_index
from calibration.measure.instruments.device import Watch, find, versions
from calibration.measure.log import Log
from calibration.measure.run import Progress, Sweep, load, planned


def measure(folder: Path, number: int, until_s: float, limit: int | None) -> None:
    """Time the points that the log of this round lacks, until the time limit."""
    device = find()
    watch = Watch(device)
    card = {"gpu": device.name, **asdict(device)}
    for key in ("name", "uuid"):
        del card[key]
    machine = {**versions(), "driver": watch.driver}
    with Log(folder / f"generated_{number}.jsonl", {**card, **machine}) as log:
        done = log.measurements.measured - log.measurements.without_kernels
        points = [p for p in planned(load("generated", print))[:limit] if p.name not in done]
        index = host_index.suite(gpu=True)
        log.write({"process": {**machine, "host_index": index, "at_s": round(time.time(), 1)}})
        progress = Progress(len(points), until_s)
        bench = GeneratedBench(device, watch, folder / f"sources_{number}.jsonl")
        complete = Sweep(log, bench, progress).run(points)
        print(f"{progress.done} of {len(points)} points, complete: {complete}", flush=True)
        for name, reason in log.measurements.failed.items():
            print(f"  {name}: {reason}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--seconds", type=float, default=570.0, help="time limit of the run (%(default)s)"
    )
    parser.add_argument(
        "--round", type=int, default=1, help="number in the log's name (%(default)s)"
    )
    parser.add_argument("--limit", type=int, help="only the first N points")
    options = parser.parse_args()
    began_s = time.perf_counter() - 15  # 15 s for the import of torch
    options.folder.mkdir(parents=True, exist_ok=True)
    measure(options.folder, options.round, began_s + options.seconds, options.limit)


if __name__ == "__main__":
    main()
