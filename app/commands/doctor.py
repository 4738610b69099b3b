"""`ridgepoint doctor`: installed versions, and whether each part works.

The modules of a part are imported when it is tried: a failed import is its result.
"""

from __future__ import annotations

import os
import platform
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import platformdirs
from rich.table import Table
from rich.text import Text

from app import progress
from app.quantities import seconds
from app.terminal import Terminal
from simulator.errors import InputError, RidgepointError
from simulator.formats.present import files, is_folder
from simulator.networks.loading.extras import unusable

PACKAGES = ("ridgepoint", "torch", "numpy", "msgspec", "typer", "rich", "platformdirs")
EXTRAS = {
    "hf": ("transformers",),
    "timm": ("timm", "torchvision"),
    "gui": ("PySide6_Essentials",),
}


def examine() -> bool:
    """Print versions and try every part. Return False if a prediction fails."""
    console = Terminal(highlight=False)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    table.add_row("python", f"{platform.python_version()} on {platform.platform(terse=True)}")
    for package in PACKAGES:
        table.add_row(package, _version(package) or Text("not installed", "red"))
    folder = os.environ.get("RIDGEPOINT_GPUS")
    users = Path(folder or Path(platformdirs.user_config_dir("ridgepoint", False)) / "gpus")
    own = files(users, "*.toml")
    table.add_row(
        "your GPUs", f"{len(own)} in {users}" if is_folder(users) else f"none (no folder {users})"
    )
    console.print(table)
    console.print()
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", overflow="fold")  # no path is cut
    works = True
    for name, (good, text) in _trials().items():
        works &= good
        table.add_row(_state("works" if good else "does not work"), name, Text(text))
    for extra, packages in EXTRAS.items():
        missing = [package for package in packages if not _version(package)]
        remedy = f'{", ".join(missing)} not installed: pip install "ridgepoint[{extra}]"'
        text = remedy if missing else ", ".join(f"{p} {_version(p)}" for p in packages)
        failure = "" if missing else _failure(extra)
        table.add_row(
            _state("absent" if missing else "does not work" if failure else "works"),
            f"{extra}: {'pictures' if extra == 'gui' else 'networks'}",
            Text(failure or text),
        )
    console.print(table)
    return works


_IMPORTED = {"hf": ("torchvision", "transformers"), "timm": ("torchvision", "timm")}
"""The modules that the networks of an extra import; only some networks of transformers import
torchvision."""


def _failure(extra: str) -> str:
    """The reason why an installed package of an extra cannot be imported, or an empty string."""
    for package in _IMPORTED.get(extra, ()):
        if find_spec(package) is not None:
            try:
                import_module(package)
            except Exception as error:
                return unusable(extra, package, error)
    return ""


def _state(state: str) -> Text:
    return Text(state, {"works": "green", "absent": "yellow"}.get(state, "bold red"))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _trials() -> dict[str, tuple[bool, str]]:
    """Try each part; return whether it works, and its result or error."""
    results: dict[str, tuple[bool, str]] = {}
    with progress.shown() as step:
        step("trying each part")
        for name, trial in {
            "GPUs": _gpus,
            "packaged profile": _profile,
            "your profiles": _own_profiles,
            "hosts": _hosts,
            "a prediction": _prediction,
        }.items():
            try:
                results[name] = (True, trial())
            except (RidgepointError, ImportError, OSError) as error:
                results[name] = (False, str(error))
    return results


def _gpus() -> str:
    from simulator.hardware.gpu import gpus

    return f"{len(gpus())} GPUs"


def _profile() -> str:
    from simulator.timing.profile import profile

    default = profile()
    return f"{default.id}: {default.source}"


def _own_profiles() -> str:
    """The GPUs with a profile of the user. Raises InputError with the problem of each wrong one."""
    from simulator.hardware.gpu import gpu_of_id
    from simulator.timing.profile import learned, users

    used: list[str] = []
    unused: list[str] = []
    problems: list[str] = []
    for path in files(users(), "*.json"):
        if gpu_of_id(path.stem) is None:
            unused.append(path.name)
            continue
        try:
            used.append(learned(path.stem).gpu)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    text = f"{', '.join(used) or 'none'} in {users()}"
    return text + (f"; no GPU has the id of {', '.join(unused)}" if unused else "")


def _hosts() -> str:
    from simulator.hardware.host import host, hosts

    return ", ".join(host(name).id for name in hosts())


def _prediction() -> str:
    from app.answers.subject import Scenario, predict, subject

    scenario = Scenario("mlp-tiny")
    p = predict(scenario, subject(scenario))
    return f"mlp-tiny, {seconds(p.period_s)} per step on {p.gpu.name}"
