"""What is installed, and what works: the first thing to look at when something does not."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import platformdirs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app import progress
from app.quantities import seconds
from simulator.errors import RidgepointError

PACKAGES = ("ridgepoint", "torch", "numpy", "msgspec", "typer", "rich", "platformdirs")
EXTRAS = {
    "hf": ("transformers",), "timm": ("timm", "torchvision"),
    "gui": ("PySide6_Essentials", "pyqtgraph"),
}  # fmt: skip


def examine() -> bool:
    """Print versions and a trial of every part; False where a prediction does not work."""
    console = Console(highlight=False)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    table.add_row("python", f"{platform.python_version()} on {platform.platform(terse=True)}")
    for package in PACKAGES:
        table.add_row(package, _version(package) or Text("not installed", "red"))
    folder = os.environ.get("RIDGEPOINT_GPUS")
    users = Path(folder or Path(platformdirs.user_config_dir("ridgepoint", False)) / "gpus")
    files = len(list(users.glob("*.toml"))) if users.is_dir() else 0
    table.add_row("GPUs of your own", f"{files} in {users}" if users.is_dir() else f"none: {users}")
    console.print(table)
    console.print()
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    works = True
    for name, (good, text) in _trials().items():
        works &= good
        table.add_row(_state("works" if good else "does not work"), name, Text(text))
    for extra, packages in EXTRAS.items():
        missing = [package for package in packages if not _version(package)]
        remedy = f'{", ".join(missing)} not installed: pip install "ridgepoint[{extra}]"'
        text = remedy if missing else ", ".join(f"{p} {_version(p)}" for p in packages)
        table.add_row(
            _state("absent" if missing else "works"),
            f"{extra}: {'pictures' if extra == 'gui' else 'networks'}",
            Text(text),
        )
    console.print(table)
    return works


def _state(state: str) -> Text:
    return Text(state, {"works": "green", "absent": "yellow"}.get(state, "bold red"))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _trials() -> dict[str, tuple[bool, str]]:
    """Each part tried out: whether it works, and what came."""
    found: dict[str, tuple[bool, str]] = {}
    with progress.shown() as step:
        step("trying out the parts")
        for name, trial in {"GPUs": _gpus, "profile": _profile, "hosts": _hosts,
                            "a prediction": _prediction}.items():  # fmt: skip
            try:
                found[name] = (True, trial())
            except (RidgepointError, ImportError, OSError) as error:
                found[name] = (False, f"{error}")
    return found


def _gpus() -> str:
    from simulator.hardware.gpu import gpus

    return f"{len(gpus())} known"


def _profile() -> str:
    from simulator.timing.profile import profile

    found = profile()
    return f"{found.id}: {found.source}"


def _hosts() -> str:
    from simulator.hardware.host import host, hosts

    return ", ".join(host(name).id for name in hosts())


def _prediction() -> str:
    from app.answers.subject import Scenario, predict, subject

    asked = Scenario("mlp-tiny")
    p = predict(asked, subject(asked))
    return f"mlp-tiny, {seconds(p.period_s)} a step on {p.gpu.name}"
