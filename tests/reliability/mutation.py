"""Mutants of the model's code, each run against the tests of its own folder.

    python -m tests.reliability.mutation RESULTS.jsonl --mutants 400 --seconds 3600 --record
    python -m tests.reliability.mutation RESULTS.jsonl --day 2026-11-28 --mutants 80
    python -m tests.reliability.mutation RESULTS.jsonl --summary

A mutant has one operator, number or condition changed. Mutants are drawn by a seed, the same number
of each part of the model, and run in a copy of the repository. Writes a line of JSON for each
mutant; mutants with a line are skipped. The tests of a mutant end after 60 s of processor time. A
mutant that exceeds it is killed only if the folder's tests pass within it without a mutant;
otherwise the tests nearest to the mutant, which run first, have not killed it in that time. Tests
that fail without a mutant are left out, and named; a folder whose other tests fail ends the run.

With `--day`, mutants are run against the tests of that day (`tests/layers.py`). Those that survive
are run against all cases, with 600 s: what these kill in addition is the price of the layers.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from tests.reliability import promises
from tests.reliability.answers import answered
from tests.reliability.copies.copied_tests import ROOT, copy, load, nearest_first, run_tests
from tests.reliability.equivalents import proof
from tests.reliability.mutants import Mutant, mutants_of

PARTS: dict[str, tuple[tuple[str, ...], str]] = {
    "costs": (("simulator/costs/**/*.py",), "tests/simulator/costs"),
    "lowering": (("simulator/lowering/*.py",), "tests/simulator/lowering"),
    "fusion": (("simulator/fusion/**/*.py",), "tests/simulator/fusion"),
    "timeline": (("simulator/schedule/*.py",), "tests/simulator/schedule"),
    "regimes": (("simulator/analysis/regimes.py",), "tests/simulator/analysis"),
    "intervals": (("simulator/timing/intervals.py", "simulator/timing/residuals.py",
                   "simulator/timing/coordinates.py", "simulator/timing/local_experts.py"),
                  "tests/simulator/timing"),
    "power": (("simulator/timing/power.py", "simulator/timing/load.py",
               "simulator/timing/voltage.py", "simulator/timing/energies.py"),
              "tests/simulator/timing"),
    "collectives": (("simulator/collectives/*.py",), "tests/simulator/collectives"),
    "planning": (("simulator/planning/**/*.py",), "tests/simulator/planning"),
    "host": (("simulator/hardware/host*.py", "simulator/hardware/waits.py"),
             "tests/simulator/hardware"),
}  # fmt: skip
"""The files of each part, and the folder of its tests."""
_LIMIT_S = 60
_WHOLE_LIMIT_S = 600  # for tests without a mutant, and for all cases of a day's survivors


class Baseline(NamedTuple):
    """The tests of a folder that fail without a mutant, and whether the others pass in the time
    that a mutant is given."""

    failed: tuple[str, ...]
    fits: bool


def drawn(part: str, count: int, seed: int = 0) -> list[Mutant]:
    """`count` mutants of a part in the order in which the seed draws them."""
    patterns, _ = PARTS[part]
    files = sorted({path for pattern in patterns for path in ROOT.glob(pattern)})
    every = [mutant for path in files for mutant in mutants_of(path, ROOT)]
    random.Random(f"{seed} {part}").shuffle(every)
    return every[:count]


def run(
    mutant: Mutant,
    part: str,
    tree: Path,
    baseline: Baseline,
    limit_s: int = _LIMIT_S,
    day: str = "",
) -> dict[str, Any]:
    """The line of a mutant: killed by the first test that fails, or survived."""
    path, tests = tree / mutant.path, nearest_first(tree, PARTS[part][1], mutant.path)
    before = path.read_text("utf-8")
    path.write_text(mutant.applied(before), "utf-8")
    try:
        outcome = run_tests(tree, tests, baseline.failed, first_only=True, limit_s=limit_s, day=day)
    finally:
        path.write_text(before, "utf-8")
    unended = outcome.state == "over time" and not outcome.failed and not baseline.fits
    return {
        "key": mutant.key,
        "part": part,
        "day": day,
        "state": "survived" if outcome.state == "passed" or unended else "killed",
        "by": next(iter(outcome.failed), outcome.state),
        "line": mutant.line(before),
        "seconds": outcome.seconds,
    }


def run_of_day(
    mutant: Mutant, part: str, tree: Path, results: Path, day: str, file: TextIO
) -> dict[str, Any]:
    """The line of a mutant for the tests of a day, and how all cases end if it survives them;
    without a day, for all cases."""
    folder = PARTS[part][1]
    answer = run(mutant, part, tree, baseline_of(results, tree, folder, file, day), day=day)
    if day and answer["state"] == "survived":
        every = baseline_of(results, tree, folder, file)
        whole = run(mutant, part, tree, every, _WHOLE_LIMIT_S)
        answer["all cases"], answer["by"] = whole["state"], whole["by"]
    return answer


def _left(
    path: Path, mutants: int, seed: int, parts: Sequence[str]
) -> Iterator[tuple[str, Mutant]]:
    """The mutants that are still to run, from each part in turn."""
    known = answered(path)
    each = math.ceil(mutants / len(parts))
    queues = {part: drawn(part, each, seed) for part in parts}
    for place in range(each):
        for part, queue in queues.items():
            if place < len(queue) and queue[place].key not in known:
                yield part, queue[place]


def baseline_of(path: Path, tree: Path, tests: str, file: TextIO, day: str = "") -> Baseline:
    """The tests of a folder, or those of a day, without a mutant; run once and stored in the file.

    Raises SystemExit if they do not end, or if the tests that pass together fail as they are run on
    a mutant: each mutant would count as killed.
    """
    key = f"no mutant {tests} {day}".strip()
    stored = answered(path).get(key)
    if stored is not None and stored["state"] in ("passed", "slow"):
        return Baseline(tuple(stored["failed"]), stored["state"] == "passed")
    whole = run_tests(tree, (tests,), (), first_only=False, limit_s=_WHOLE_LIMIT_S, day=day)
    for test in whole.failed:
        print(f"fails without a mutant, left out: {test}", flush=True)
    outcome = run_tests(tree, (tests,), whole.failed, first_only=True, limit_s=_LIMIT_S, day=day)
    is_slow = outcome.state == "over time" and whole.state != "over time" and not outcome.failed
    state = "slow" if is_slow else outcome.state
    if state not in ("passed", "slow"):
        by = f" ({outcome.failed[0]})" if outcome.failed else ""
        raise SystemExit(
            f"{tests} without a mutant: {state}{by} after {outcome.seconds} s: expected tests that "
            f"pass, all together within {_WHOLE_LIMIT_S} s of processor time, else every mutant "
            "counts as killed; correct them, or choose other --parts"
        )
    line = {"key": key, "part": "", "failed": whole.failed, "seconds": outcome.seconds}
    file.write(json.dumps({**line, "state": state}) + "\n")
    file.flush()
    return Baseline(whole.failed, state == "passed")


def mutants_run(path: Path) -> list[dict[str, Any]]:
    """The answers for mutants, without those of runs of the unchanged code."""
    return [answer for answer in answered(path).values() if answer["part"] in PARTS]


def figure(path: Path) -> str:
    """The share of killed mutants, of all and by part, the survivors of a day that all cases kill,
    and the survivors that change no result."""
    answers = mutants_run(path)
    killed = [a for a in answers if a["state"] == "killed"]
    parts: list[str] = []
    for part in PARTS:
        of = [a for a in answers if a["part"] == part]
        if of:
            parts.append(f"{part} {sum(a['state'] == 'killed' for a in of)} of {len(of)}")
    share = len(killed) / max(1, len(answers))
    text = f"{len(killed)} of {len(answers)} mutants killed ({share:.0%}): {', '.join(parts)}"
    if any(a.get("day") for a in answers):
        more = sum(a.get("all cases") == "killed" for a in answers)
        text += f"; all cases kill {more} of the other {len(answers) - len(killed)}"
    proven = sum(a["state"] == "survived" and bool(proof(a)) for a in answers)
    return f"{text}; {proven} of the others proven to change no result" if proven else text


def command(options: argparse.Namespace) -> str:
    """The command line that draws the mutants of a results file again."""
    count = len(mutants_run(options.results))
    words = [f"python -m tests.reliability.mutation RESULTS.jsonl --mutants {count}"]
    words += [f"--parts {' '.join(options.parts)}"] if options.parts != [*PARTS] else []
    words += [f"--seed {options.seed}"] if options.seed else []
    words += [f"--day {options.day}"] if options.day else []
    return " ".join(words)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--mutants", type=int, default=400)
    parser.add_argument("--parts", nargs="+", choices=[*PARTS], default=[*PARTS], metavar="PART")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--day", type=date.fromisoformat, help="YYYY-MM-DD; else all cases")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--record", action="store_true", help="write the row of tests/README.md")
    options = parser.parse_args()
    results, day = options.results, str(options.day or "")
    until = time.monotonic() + options.seconds
    if any(answer.get("day", "") != day for answer in mutants_run(results)):
        sys.exit(f"{results} has answers of another --day: expected a file for each day")
    if not options.summary:
        load()
        with tempfile.TemporaryDirectory() as folder, results.open("a", encoding="utf-8") as file:
            copy(Path(folder))
            for part, mutant in _left(results, options.mutants, options.seed, options.parts):
                if time.monotonic() > until:
                    break
                answer = run_of_day(mutant, part, Path(folder), results, day, file)
                file.write(json.dumps(answer) + "\n")
                file.flush()
    for answer in answered(results).values():
        if answer["state"] == "survived":
            print(answer["key"], answer["line"], *filter(None, [proof(answer)]), sep=": ")
    print(figure(results))
    if options.record:
        tests = "tests of a folder on one day" if day else "tests of a folder"
        promises.write(f"{tests} kill its mutants", command(options), figure(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
