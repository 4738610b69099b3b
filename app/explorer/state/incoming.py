"""Files given to the window: told apart by what they are, opened, or refused with a sentence."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.answers.changes import with_field, with_trace
from app.explorer.state import session_file
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.scenario.scenario import Scenario, load

What = Literal["session", "scenario", "gpu", "trace", "network", "profile"]
KINDS = "Ridgepoint's files (*.ridge *.toml *.json *.json.gz *.rpt *.msgpack *.py)"
_MAX_BYTES = 2**20


@dataclass(frozen=True)
class Incoming:
    """A file and what it is."""

    path: Path
    what: What

    def scenario(self, now: Scenario) -> Scenario:
        """What the scenario that is worked on becomes with a scenario, a GPU or a saved trace.
        InputError for a file that is wrong."""
        if self.what == "scenario":
            return load(self.path)
        if self.what == "gpu":
            gpu(self.path)
            return with_field(now, "gpu", str(self.path.resolve()))
        return with_trace(now, str(self.path.resolve()))


def incoming(path: Path) -> Incoming:
    """What a file is, by its name and its first keys. InputError for one that is nothing known."""
    if not path.is_file():
        raise InputError(f"cannot open {path}: expected a file that is there; choose another")
    name = path.name.lower()
    if name.endswith(session_file.SUFFIX):
        return Incoming(path, "session")
    if name.endswith(".py"):
        return Incoming(path, "network")
    if name.endswith(".gz") or (name.endswith(".json") and _is_profile(path)):
        return Incoming(path, "profile")
    if name.endswith((".json", ".rpt", ".msgpack")):
        return Incoming(path, "trace")
    if name.endswith(".toml"):
        return Incoming(path, "scenario" if _is_scenario(path) else "gpu")
    raise InputError(
        f"{path.name} is nothing that can be opened here: expected a session (.ridge), a scenario "
        "or a GPU (.toml), a saved trace (.json, .msgpack), a profiler's trace (.json, .gz) or a "
        "network (.py); choose another"
    )


def code_of(scenario: Scenario) -> Path | None:
    """The file whose code runs when a scenario is traced; None where it is Ridgepoint's own."""
    name, _, _ = scenario.network.partition(".py")
    return Path(f"{name}.py") if ".py" in scenario.network else None


def _is_profile(path: Path) -> bool:
    """Is there a key of a profiler's trace where such a file begins?"""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
        return b'"traceEvents"' in head or b'"schemaVersion"' in head
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; choose another") from error


def _is_scenario(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES)
        return tomllib.loads(raw.decode()).get("format") == "ridgepoint-scenario"
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; choose another") from error
    except (ValueError, RecursionError):
        return False  # whoever reads it as a GPU says what is wrong, and where
