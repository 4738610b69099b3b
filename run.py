"""Run Ridgepoint from a fresh clone: `python run.py` opens the explorer, or writes a report if
there is no display.

`python run.py test` runs the checks, with today's part of the long families of tests (`--day DATE`:
with that day's), and `test --all` also all their cases and the runs that take hours. `docs` builds
the documentation in `site/`, `screenshots` creates pictures of the explorer, and `bundle` creates a
folder in `dist/` that runs without Python and torch.

Creates `.venv` once, then runs in it. Arguments after `--` go to the `ridgepoint` command: `python
run.py -- predict gpt2 --gpu a100`.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv"
BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = ENVIRONMENT / "ridgepoint-installed"
EXAMPLE = ["bert-base", "--gpu", "h200", "--batch", "64", "--seq", "128", "--dtype", "bf16"]
REPORT = "report.html"
REFUSED = 2  # the command's exit status for unusable input
CHECKS = (
    ("format", ["ruff", "format", "--check", "."]),
    ("lint", ["ruff", "check", "."]),
    ("contracts", ["lint-imports"]),
)
TYPES = ["pyright"]
TESTS = ["pytest", "-n", "2", "--dist", "worksteal", "-m", "not slow", "--day"]


def run(*command: str | Path) -> int:
    """Run a command in this folder and return its exit status."""
    return subprocess.call([str(part) for part in command], cwd=HERE, env=environment())


def started(*command: str | Path) -> subprocess.Popen[bytes]:
    """Start a command in this folder without waiting for it."""
    return subprocess.Popen([str(part) for part in command], cwd=HERE, env=environment())


def environment() -> dict[str, str]:
    """Environment variables for the commands. If PYTHONDONTWRITEBYTECODE is set, bytecode is cached
    in `.venv` instead: the tests start many processes, and each would spend seconds compiling
    torch."""
    variables = dict(os.environ)
    if variables.pop("PYTHONDONTWRITEBYTECODE", ""):
        variables.setdefault("PYTHONPYCACHEPREFIX", str(ENVIRONMENT / "bytecode"))
    return variables


def install() -> None:
    """Create the environment, unless it is newer than pyproject.toml and constraints.txt."""
    inputs = [HERE / "pyproject.toml", HERE / "constraints.txt"]
    if STAMP.exists() and STAMP.stat().st_mtime >= max(p.stat().st_mtime for p in inputs):
        return
    print("Creating .venv: torch, numpy, scipy and a few small packages.", flush=True)
    if sys.platform == "linux" and platform.machine() == "x86_64" and not offers_cpu_build():
        print(
            "The package index may offer torch with CUDA, about 3 GB. For the CPU build (200 MB),\n"
            "press Ctrl-C and point PIP_FIND_LINKS or PIP_INDEX_URL at an index that has it.",
            flush=True,
        )
    if not PYTHON.exists():
        venv.EnvBuilder(with_pip=True).create(ENVIRONMENT)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # few of torch's 2,500 modules are used; Python compiles each when it first imports it
    if run(*pip, "--no-compile", "-c", "constraints.txt", "-e", ".[dev]"):
        sys.exit("error: the installation failed; see pip's message above")
    STAMP.touch()


def offers_cpu_build() -> bool:
    """Whether there is a local folder of wheels (PIP_FIND_LINKS) with a CPU build of torch."""
    folders = os.environ.get("PIP_FIND_LINKS", "").split()
    return any(list(Path(folder).glob("torch-*+cpu-*.whl")) for folder in folders)


def show() -> int:
    """Open the example in the explorer. Without a display, print its report and write it as
    HTML."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY")
    if sys.platform != "linux" or any(os.environ.get(name) for name in displays):
        status = run(BIN / "ridgepoint", "explore", *EXAMPLE)
        if status != REFUSED:
            return status
    status = run(BIN / "ridgepoint", "predict", *EXAMPLE, "--html", REPORT)
    if not status:
        print(f"There is no display for the explorer: the report is also in {HERE / REPORT}")
    return status


def test(day: str = "today") -> int:
    """Run format, lint and contracts, then types and a day's part of the tests in parallel, because
    pyright uses one core for more than a minute. Stop at the first failure."""
    for name, command in CHECKS:
        print(f"== {name}", flush=True)
        status = run(BIN / command[0], *command[1:])
        if status:
            return status
    print("== types and tests", flush=True)
    tests, types = (started(BIN / command[0], *command[1:]) for command in ([*TESTS, day], TYPES))
    status = types.wait()
    if status:
        tests.terminate()
    failed = tests.wait()
    return status or failed


def test_all(arguments: list[str]) -> int:
    """Run the checks, then all cases and the runs that take hours; runs that already succeeded are
    skipped."""
    return test() or run(PYTHON, "-m", "tests.reliability.all", *arguments)


def docs() -> int:
    """Build the documentation from `docs/` and the docstrings. Broken links and unknown names are
    errors."""
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if run(*pip, "-c", "constraints.txt", "-e", ".[docs]"):
        sys.exit("error: the installation failed; see pip's message above")
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")  # hides the theme's advertisement
    status = run(PYTHON, "-m", "mkdocs", "build", "--strict", "--quiet")
    if not status:
        print(f"The documentation is in {HERE / 'site' / 'index.html'}")
        print("Its search needs a server, such as `python -m http.server --directory site`")
    return status


def bundle() -> int:
    """Create a folder that runs on computers of this platform without Python. It opens networks of
    the catalogue, saved traces, sessions, lessons and plans."""
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if run(*pip, "-c", "constraints.txt", "-e", ".[bundle]"):
        sys.exit("error: the installation failed; see pip's message above")
    folders = ["--distpath", "dist", "--workpath", "build"]
    options = ["--noconfirm", "--log-level", "ERROR", *folders]
    status = run(PYTHON, "-m", "PyInstaller", *options, "app/bundle/ridgepoint.spec")
    if not status:
        folder = HERE / "dist" / "ridgepoint"
        size_mb = sum(p.stat().st_size for p in folder.rglob("*") if not p.is_symlink()) / 1e6
        print(f"The bundle is in {folder}, {size_mb:.0f} MB: start {folder / 'ridgepoint'}")
    return status


def main() -> int:
    arguments = sys.argv[1:]
    if sys.version_info < (3, 11):  # noqa: UP036  this file runs before pip can check
        sys.exit(f"error: this is Python {platform.python_version()}: expected 3.11 or later")
    if arguments and arguments[0] not in ("test", "docs", "screenshots", "bundle", "--"):
        sys.exit(
            f"error: unknown argument {arguments[0]!r}: expected `test`, `docs`, `screenshots`, "
            "`bundle`, no argument, or `--` followed by arguments for `ridgepoint`"
        )
    install()
    if arguments[:2] == ["test", "--all"]:
        return test_all(arguments[2:])
    if arguments[:2] == ["test", "--day"] and len(arguments) == 3:
        return test(arguments[2])
    if arguments == ["test"]:
        return test()
    if arguments[:1] == ["test"]:
        sys.exit(
            f"error: test {' '.join(arguments[1:])}: expected `test`, `test --day YYYY-MM-DD` or "
            "`test --all`"
        )
    if arguments[:1] == ["docs"]:
        return docs()
    if arguments[:1] == ["bundle"]:
        return bundle()
    if arguments[:1] == ["screenshots"]:
        return run(PYTHON, "-m", "app.screenshots", *arguments[1:])
    return run(BIN / "ridgepoint", *arguments[1:]) if arguments[1:] else show()


if __name__ == "__main__":
    sys.exit(main())
