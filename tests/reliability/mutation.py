"""Mutants of the model's code, each run against the tests of its own folder.

    python -m tests.reliability.mutation RESULTS.jsonl --mutants 400 --seconds 3600 --record
    python -m tests.reliability.mutation RESULTS.jsonl --summary

A mutant has one operator, number or condition changed. Mutants are drawn by a seed, the same number
of each part of the model, and run in a copy of the repository. Writes a line of JSON for each
mutant; mutants with a line are skipped. The tests of a mutant end after 60 s of processor time. A
mutant that exceeds it is killed only if the folder's tests pass within it without a mutant;
otherwise the tests nearest to the mutant, which run first, have not killed it in that time. Tests
that fail without a mutant are left out, and named; a folder whose other tests fail ends the run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from tests.reliability import promises
from tests.reliability.answers import answered
from tests.reliability.equivalents import proof
from tests.reliability.mutants import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
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
_COPIED = ("simulator", "tests")
"""Folders of the copy; the others are links."""
_LOADED_BEFORE = ("torch", "numpy", "scipy", "msgspec", "hypothesis", "pytest")
"""Imported once; a process forked for each mutant then imports only the mutant's tree."""


class Outcome(NamedTuple):
    """How the tests of a folder ended: "passed", "failed", "over time" or "broken"."""

    state: str
    failed: tuple[str, ...]
    seconds: float


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


def _copy(tree: Path) -> None:
    for path in ROOT.iterdir():
        if path.name in _COPIED:
            shutil.copytree(path, tree / path.name)
        elif not path.name.startswith("."):
            (tree / path.name).symlink_to(path)


def nearest_first(tree: Path, folder: str, path: str) -> tuple[str, ...]:
    """The test files of a folder: those named after a module or that import it, then those named
    after its package, then the others, the smaller ones first."""
    module = Path(path).with_suffix("")

    def distance(test: Path) -> tuple[int, int]:
        text = test.read_text("utf-8")
        package = rf"from {'.'.join(module.parts[:-1])} import .*\b{module.name}\b"
        imported = re.search(rf"\b{'.'.join(module.parts)}\b|{package}", text) is not None
        named = [module.name in test.stem or imported, module.parent.name in test.stem]
        return next((i for i, near in enumerate(named) if near), len(named)), len(text)

    tests = sorted((tree / folder).rglob("test_*.py"))
    return tuple(test.relative_to(tree).as_posix() for test in sorted(tests, key=distance))


def run_tests(
    tree: Path, tests: tuple[str, ...], left_out: tuple[str, ...], first_only: bool
) -> Outcome:
    """Run tests, in this order, in a copy of the repository, in a forked process."""
    began, (reading, writing) = time.monotonic(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _test(tree, tests, left_out, first_only, writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        failed = tuple(pipe.read().split("\n")[:-1])
    _, status = os.waitpid(child, 0)
    seconds = round(time.monotonic() - began, 1)
    if os.WIFSIGNALED(status):
        return Outcome("over time", failed, seconds)
    states = {0: "passed", 1: "failed"}
    return Outcome(states.get(os.WEXITSTATUS(status), "broken"), failed, seconds)


def _test(
    tree: Path, tests: tuple[str, ...], left_out: tuple[str, ...], first_only: bool, pipe: int
) -> None:
    """In the child: run the tests, write the names of those that fail, and end."""
    import resource

    import pytest

    class Failures:
        @staticmethod
        def pytest_runtest_logreport(report: Any) -> None:
            if report.failed:
                os.write(pipe, f"{report.nodeid}\n".encode())

        @staticmethod
        def pytest_collectreport(report: Any) -> None:
            if report.failed:
                os.write(pipe, f"{report.nodeid}\n".encode())

    limit_s = _LIMIT_S if first_only else 10 * _LIMIT_S
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.chdir(tree)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("simulator", "tests")]:
        del sys.modules[name]
    sys.path[:] = [str(tree), *(p for p in sys.path if Path(p or ".").resolve() != ROOT)]
    os.environ["PYTHONPATH"] = str(tree)
    # A mutant written within a second of another one would run from that one's bytecode.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    arguments = ["-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    arguments += ["-m", "not slow", *(["-x"] if first_only else []), *tests]
    for name in left_out:
        arguments += ["--deselect", name] if "::" in name else ["--ignore", name]
    os._exit(int(pytest.main(arguments, plugins=[Failures()])))


def run(mutant: Mutant, part: str, tree: Path, baseline: Baseline) -> dict[str, Any]:
    """The line of a mutant: killed by the first test that fails, or survived."""
    path, tests = tree / mutant.path, nearest_first(tree, PARTS[part][1], mutant.path)
    before = path.read_text("utf-8")
    path.write_text(mutant.applied(before), "utf-8")
    try:
        outcome = run_tests(tree, tests, baseline.failed, first_only=True)
    finally:
        path.write_text(before, "utf-8")
    unended = outcome.state == "over time" and not outcome.failed and not baseline.fits
    return {
        "key": mutant.key,
        "part": part,
        "state": "survived" if outcome.state == "passed" or unended else "killed",
        "by": next(iter(outcome.failed), outcome.state),
        "line": mutant.line(before),
        "seconds": outcome.seconds,
    }


def _left(
    path: Path, mutants: int, seed: int, parts: Sequence[str]
) -> Iterator[tuple[str, Mutant]]:
    """The mutants that are still to run, from each part in turn."""
    known = answered(path)
    each = math.ceil(mutants / len(PARTS))
    queues = {part: drawn(part, each, seed) for part in parts}
    for place in range(each):
        for part, queue in queues.items():
            if place < len(queue) and queue[place].key not in known:
                yield part, queue[place]


def baseline_of(path: Path, tree: Path, tests: str, file: TextIO) -> Baseline:
    """The tests of a folder without a mutant; run once and stored in the file.

    Raises SystemExit if they do not end, or if the tests that pass together fail as they are run on
    a mutant: each mutant would count as killed.
    """
    key = f"no mutant {tests}"
    stored = answered(path).get(key)
    if stored is not None and stored["state"] in ("passed", "slow"):
        return Baseline(tuple(stored["failed"]), stored["state"] == "passed")
    whole = run_tests(tree, (tests,), (), first_only=False)
    for test in whole.failed:
        print(f"fails without a mutant, left out: {test}", flush=True)
    outcome = run_tests(tree, (tests,), whole.failed, first_only=True)
    is_slow = outcome.state == "over time" and whole.state != "over time" and not outcome.failed
    state = "slow" if is_slow else outcome.state
    if state not in ("passed", "slow"):
        by = f" ({outcome.failed[0]})" if outcome.failed else ""
        raise SystemExit(
            f"{tests} without a mutant: {state}{by} after {outcome.seconds} s: expected tests that "
            f"pass, all together within {10 * _LIMIT_S} s of processor time, else every mutant "
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
    """The share of killed mutants, of all and by part, and the survivors that change no result."""
    answers = mutants_run(path)
    killed = [a for a in answers if a["state"] == "killed"]
    parts: list[str] = []
    for part in PARTS:
        of = [a for a in answers if a["part"] == part]
        parts.append(f"{part} {sum(a['state'] == 'killed' for a in of)} of {len(of)}")
    share = len(killed) / max(1, len(answers))
    text = f"{len(killed)} of {len(answers)} mutants killed ({share:.0%}): {', '.join(parts)}"
    proven = sum(a["state"] == "survived" and bool(proof(a)) for a in answers)
    return f"{text}; {proven} of the others proven to change no result" if proven else text


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--mutants", type=int, default=400)
    parser.add_argument("--parts", nargs="+", choices=[*PARTS], default=[*PARTS], metavar="PART")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--record", action="store_true", help="write the row of tests/README.md")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    if not options.summary:
        for name in _LOADED_BEFORE:
            import_module(name)
        with (
            tempfile.TemporaryDirectory() as folder,
            options.results.open("a", encoding="utf-8") as file,
        ):
            _copy(Path(folder))
            for part, mutant in _left(
                options.results, options.mutants, options.seed, options.parts
            ):
                if time.monotonic() > until:
                    break
                before = baseline_of(options.results, Path(folder), PARTS[part][1], file)
                file.write(json.dumps(run(mutant, part, Path(folder), before)) + "\n")
                file.flush()
    for answer in answered(options.results).values():
        if answer["state"] == "survived":
            print(answer["key"], answer["line"], *filter(None, [proof(answer)]), sep=": ")
    print(figure(options.results))
    if options.record:
        promises.write(
            "tests of a folder kill its mutants",
            "python -m tests.reliability.mutation RESULTS.jsonl --mutants "
            f"{len(mutants_run(options.results))}"
            + (f" --seed {options.seed}" if options.seed else ""),
            figure(options.results),
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
