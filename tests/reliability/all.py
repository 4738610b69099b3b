"""The runs that are too long for every commit, one after the other: `python run.py test --all`.

    python -m tests.reliability.all
    python -m tests.reliability.all --only networks hostile --again

Successful runs are not repeated without `--again`; an interrupted run continues where it ended.
Answers, logs and `summary.html` are in `build/reliability`; the runs write the table of
`tests/README.md`. The exit status is 1 if a run failed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import date
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from tests.reliability import promises

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "reliability"
_SHOWN = 20  # lines at the end of a log


class Run(NamedTuple):
    """A command of this Python. `promise` is the row that this module writes, from the last line of
    the output; runs without it write their rows themselves.
    """

    command: tuple[str, ...]
    promise: str = ""
    environment: Mapping[str, str] = {}


def _tests(*arguments: str) -> tuple[str, ...]:
    return ("-m", "pytest", "-q", "-p", "no:randomly", *arguments)


def runs(folder: Path) -> dict[str, Run]:
    """All runs by name, the shorter ones first."""
    named = ("opinfo", "networks", "versions", "mutation")
    answers = {name: str(folder / f"{name}.jsonl") for name in named}
    return {
        "supply": Run(("-m", "tests.reliability.supply", "--record")),
        "kills": Run(("-m", "tests.reliability.kills", "--points", "600", "--record")),
        "hostile": Run(("-m", "tests.reliability.hostile", "--mutations", "500", "--record")),
        "opinfo": Run(("-m", "tests.reliability.opinfo", answers["opinfo"], "--record")),
        "networks": Run(("-m", "tests.reliability.networks", answers["networks"], "--record")),
        "properties": Run(
            _tests("tests/simulator/test_properties.py", "tests/simulator/test_monotone.py"),
            "physics holds in 50,000 examples of each property",
            {"PROPERTY_EXAMPLES": "50000"},
        ),
        "dominance": Run(
            _tests("tests/simulator/timing/test_dominance.py"),
            "a card better in every figure is never slower, or a reason is named",
        ),
        "cases": Run(
            _tests("-n", "2", "-m", "layered and not slow", "tests"),
            "every case of the long families of tests passes, not only a day's part",
        ),
        "versions": Run(("-m", "tests.reliability.versions", answers["versions"], "--record")),
        "mutation": Run(("-m", "tests.reliability.mutation", answers["mutation"], "--record")),
        "slider": Run(("-m", "tests.reliability.soak", "slider", "--hours", "8", "--record")),
        "sweeps": Run(("-m", "tests.reliability.soak", "sweeps", "--hours", "4", "--record")),
        "slow": Run(_tests("-m", "slow", "tests"), "the tests that are marked slow pass"),
    }


def execute(name: str, run: Run, folder: Path) -> dict[str, Any]:
    """Run a command, with its output in `NAME.log`; returns its row of the summary."""
    began = time.monotonic()
    log = folder / f"{name}.log"
    with log.open("w", encoding="utf-8") as out:
        status = subprocess.call(
            [sys.executable, *run.command],
            cwd=ROOT,
            env={**os.environ, **run.environment},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    lines = log.read_text("utf-8", "replace").splitlines()
    if run.promise and lines:
        set_before = "".join(f"{key}={value} " for key, value in run.environment.items())
        command = f"{set_before}python {' '.join(run.command)}"
        promises.write(run.promise, command, lines[-1].strip("= "))
    return {
        "status": status,
        "seconds": round(time.monotonic() - began),
        "day": date.today().isoformat(),
        "end": lines[-_SHOWN:],
    }


def summary(results: Mapping[str, Mapping[str, Any]]) -> str:
    """A page with a row for each run, and the end of its output."""
    rows = "".join(
        f"<tr class={'good' if row['status'] == 0 else 'bad'}><td>{escape(name)}"
        f"<td>{'passed' if row['status'] == 0 else 'failed'}<td>{row['seconds']:,} s"
        f"<td>{escape(row['day'])}<td><pre>{escape(chr(10).join(row['end']))}</pre></tr>\n"
        for name, row in results.items()
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Reliability</title>\n'
        "<style>body{font:14px sans-serif;margin:2em}td,th{padding:4px 12px;text-align:left;"
        "vertical-align:top}.good td:nth-child(2){color:#070}.bad td:nth-child(2){color:#b00}"
        "pre{margin:0;white-space:pre-wrap}</style>\n<h1>Reliability</h1>\n"
        f"<table><tr><th>run<th>result<th>time<th>day<th>end of its output</tr>\n{rows}</table>\n"
    )


def main() -> int:
    """Run the command line."""
    every = runs(FOLDER)
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=[*every], metavar="RUN", help=", ".join(every))
    parser.add_argument("--again", action="store_true", help="run what ended well again")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    state = FOLDER / "state.json"
    results: dict[str, dict[str, Any]] = json.loads(state.read_text()) if state.exists() else {}
    for name in options.only or every:
        if not options.again and results.get(name, {}).get("status") == 0:
            print(f"{name}: passed on {results[name]['day']}", flush=True)
            continue
        if options.again:
            (FOLDER / f"{name}.jsonl").unlink(missing_ok=True)
        print(f"{name}: running; its output is in {FOLDER / f'{name}.log'}", flush=True)
        results[name] = execute(name, every[name], FOLDER)
        print(f"{name}: {'passed' if results[name]['status'] == 0 else 'FAILED'}", flush=True)
        state.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        (FOLDER / "summary.html").write_text(summary(results), "utf-8")
    print(f"summary: {FOLDER / 'summary.html'}")
    return int(any(results[name]["status"] for name in options.only or every))


if __name__ == "__main__":
    sys.exit(main())
