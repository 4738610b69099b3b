"""Measure the speed of answers: `python -m tests.benchmarks [NAME …] [--csv FILE] [--svg FILE]`.

Prints medians of several runs in wall and CPU seconds, the required time, and the machine's load.
These are not tests, because machines and their load differ. Traces are stored in a separate folder,
empty at first; "again" means with everything in memory.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks import (
    commands,
    compilers,
    explorer,
    growth,
    plans,
    questions,
    several_gpus,
    slopes,
)
from tests.benchmarks.timing import Row

BENCHMARKS: dict[str, Callable[..., Iterator[Row]]] = {
    "commands": commands.commands, "slopes": slopes.slopes,
    "whatifs": questions.whatifs, "advice": questions.advice, "searches": questions.searches,
    "maps": questions.maps, "points": questions.points, "growth": growth.growth,
    "several_gpus": several_gpus.several_gpus, "compilers": compilers.compilers,
    "explorer": explorer.explorer, "plans": plans.plans,
}  # fmt: skip
GROWING = ("slopes", "growth")
"""Benchmarks that take the largest size as an argument."""


def main() -> None:
    """Run the named benchmarks, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--csv", type=Path, help="the figures as a table")
    parser.add_argument("--svg", type=Path, help="the growth of sweeps as a picture")
    parser.add_argument(
        "--most", type=int, default=100_000, help="points and scenarios, at most 1,000,000"
    )
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}: expected {', '.join(BENCHMARKS)}")
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}\n{Row.HEADING}")
    rows: list[Row] = []
    for name in arguments.names or BENCHMARKS:
        run = BENCHMARKS[name]
        for row in run(arguments.most) if name in GROWING else run():
            print(row, flush=True)
            rows.append(row)
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(Row._fields)
            table.writerows(rows)
    if arguments.svg:
        arguments.svg.write_text(growth.picture(rows), "utf-8")


if __name__ == "__main__":
    main()
