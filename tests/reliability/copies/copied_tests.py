"""The tests of a folder, run in a copy of the repository in a process of their own."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[3]
_COPIED = ("simulator", "tests")
"""Folders of the copy; the others are links."""
_LOADED = ("torch", "numpy", "scipy", "msgspec", "hypothesis", "pytest")
"""Imported once; each forked process then imports only the tree of the copy."""


class Outcome(NamedTuple):
    """How the tests of a folder ended: "passed", "failed", "over time" or "broken"."""

    state: str
    failed: tuple[str, ...]
    seconds: float


def load() -> None:
    """Import the packages that all tests need: each process forked later has them."""
    for name in _LOADED:
        import_module(name)


def copy(tree: Path) -> None:
    """Copy the folders that are changed and run to an empty folder; link the others."""
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
    tree: Path,
    tests: tuple[str, ...],
    left_out: tuple[str, ...],
    *,
    first_only: bool,
    limit_s: int,
    day: str = "",
) -> Outcome:
    """Run tests in this order in a copy of the repository, in a forked process: all their cases, or
    those of a day. `first_only` ends at the first that fails; `limit_s` is processor time."""
    began, (reading, writing) = time.monotonic(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        options = ["-x"] if first_only else []
        options += ["--day", day] if day else []
        for name in left_out:
            options += ["--deselect", name] if "::" in name else ["--ignore", name]
        _test(tree, [*options, *tests], limit_s, writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        failed = tuple(pipe.read().split("\n")[:-1])
    _, status = os.waitpid(child, 0)
    seconds = round(time.monotonic() - began, 1)
    if os.WIFSIGNALED(status):
        return Outcome("over time", failed, seconds)
    states = {0: "passed", 1: "failed"}
    return Outcome(states.get(os.WEXITSTATUS(status), "broken"), failed, seconds)


def _test(tree: Path, arguments: list[str], limit_s: int, pipe: int) -> None:
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
    plugins = ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    arguments = ["-q", *plugins, "-m", "not slow", *arguments]
    os._exit(int(pytest.main(arguments, plugins=[Failures()])))
