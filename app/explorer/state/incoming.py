"""Identifies the files that the user opens, and applies them to a scenario."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.answers.changes import with_field, with_trace
from app.explorer.state import session_file
from app.lessons import lesson_file, pack
from simulator.errors import InputError
from simulator.formats.present import is_file
from simulator.hardware.gpu import gpu
from simulator.scenario.scenario import Scenario, load

FileKind = Literal["session", "scenario", "plan", "gpu", "lesson", "trace", "network", "profile"]
KINDS = "Ridgepoint files (*.ridge *.toml *.json *.json.gz *.rpt *.msgpack *.py)"
_MAX_BYTES = 2**20
WITHOUT_SCENARIO = ("Plan", "Lessons")
"""Pages that do not show the scenarios."""


@dataclass(frozen=True)
class IncomingFile:
    """A file with its kind."""

    path: Path
    kind: FileKind

    def scenario(self, now: Scenario) -> Scenario:
        """The scenario of the file, or the scenario `now` with the file's GPU or saved trace.

        Raises InputError if the file is invalid.
        """
        if self.kind == "scenario":
            return load(self.path)
        if self.kind == "gpu":
            gpu(self.path)
            return with_field(now, "gpu", str(self.path.resolve()))
        return with_trace(now, str(self.path.resolve()))


def identify(path: Path) -> IncomingFile:
    """Identify a file by its name and its first keys. Raises InputError if its kind is unknown."""
    if not is_file(path):
        raise InputError(f"cannot open {path}: the file does not exist; choose another")
    name = path.name.lower()
    if name.endswith(session_file.SUFFIX):
        return IncomingFile(path, "session")
    if name.endswith(".py"):
        return IncomingFile(path, "network")
    if name.endswith(".gz") or (name.endswith(".json") and _is_profile(path)):
        return IncomingFile(path, "profile")
    if name.endswith((".json", ".rpt", ".msgpack")):
        return IncomingFile(path, "trace")
    if name.endswith(".toml"):
        return IncomingFile(path, _toml_kind(path))
    raise InputError(
        f"Ridgepoint can't open {path.name}: expected a session (.ridge), a scenario, a plan, a "
        "GPU or lessons (.toml), a saved trace (.json, .msgpack), a profiler trace (.json, .gz) or "
        "a network (.py); choose another"
    )


def page_for(workspace: str, kind: FileKind) -> str:
    """The page that shows what a file of this kind changes, or "" if the current page does."""
    hidden = ("Cluster", *WITHOUT_SCENARIO) if kind == "gpu" else WITHOUT_SCENARIO
    return "Explore" if workspace in hidden else ""


def code_of(scenario: Scenario) -> Path | None:
    """The user's file whose code runs when a scenario is traced; None for a built-in network."""
    name, _, _ = scenario.network.partition(".py")
    return Path(f"{name}.py") if ".py" in scenario.network else None


def _is_profile(path: Path) -> bool:
    """Whether a JSON file begins with a key of a profiler trace."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
        return b'"traceEvents"' in head or b'"schemaVersion"' in head
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; choose another") from error


def _toml_kind(path: Path) -> Literal["scenario", "plan", "gpu", "lesson"]:
    """The kind of a TOML file; a plan has a section [workload]."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES)
        table = tomllib.loads(raw.decode())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; choose another") from error
    except (ValueError, RecursionError):
        return "gpu"  # reading the file as a GPU reports the error and its line
    if table.get("format") == "ridgepoint-scenario":
        return "scenario"
    if table.get("format") in (lesson_file.FORMAT, pack.FORMAT):
        return "lesson"
    return "plan" if "workload" in table else "gpu"
