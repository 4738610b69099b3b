"""Identifies the files that the user opens, and applies them to a scenario."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.answers.changes import with_field, with_trace
from app.explorer.state import session_file
from simulator.errors import InputError
from simulator.formats.present import is_file
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.scenario.scenario import Scenario, load

FileKind = Literal[
    "session",
    "scenario",
    "plan",
    "gpu",
    "host",
    "cluster",
    "lesson",
    "trace",
    "network",
    "profile",
]
KINDS = "Ridgepoint files (*.ridge *.toml *.json *.json.gz *.rpt *.msgpack *.py)"
_MAX_BYTES = 2**20
_HEAD_BYTES = 4096
WITHOUT_SCENARIO = ("Plan", "Lessons")
"""Pages that do not show the scenarios."""
_CLUSTER_KEYS = {"gpus_per_node", "nodes", "link", "network"}
"""Keys of a cluster's file that no GPU's file has."""


@dataclass(frozen=True)
class IncomingFile:
    """A file with its kind."""

    path: Path
    kind: FileKind

    def scenario(self, now: Scenario) -> Scenario:
        """The scenario of the file, or the scenario `now` with the file's GPU, host or saved trace.

        Raises InputError if the file is invalid.
        """
        if self.kind == "scenario":
            return load(self.path)
        if self.kind == "gpu":
            gpu(self.path)
            return with_field(now, "gpu", str(self.path.resolve()))
        if self.kind == "host":
            host(str(self.path.resolve()))
            return with_field(now, "host", str(self.path.resolve()))
        return with_trace(now, str(self.path.resolve()))


def identify(path: Path) -> IncomingFile:
    """Identify a file by its name and its first keys. Raises InputError if its kind is unknown."""
    if not is_file(path):
        reason = "it is a folder" if path.is_dir() else "the file does not exist"
        raise InputError(f"cannot open {path}: {reason}; choose another")
    name = path.name.lower()
    if name.endswith(session_file.SUFFIX):
        return IncomingFile(path, "session")
    if name.endswith(".py"):
        return IncomingFile(path, "network")
    if name.endswith(".gz"):
        return IncomingFile(path, "profile")
    if name.endswith(".json"):
        return IncomingFile(path, _json_kind(path))
    if name.endswith((".rpt", ".msgpack")):
        return IncomingFile(path, "trace")
    if name.endswith(".toml"):
        return IncomingFile(path, _toml_kind(path))
    raise InputError(
        f"Ridgepoint can't open {path.name}: expected a session (.ridge), a scenario, a plan, a "
        "GPU, a cluster or lessons (.toml), a host (.json), a saved trace (.json, .msgpack), a "
        "profiler trace (.json, .gz) or a network (.py); choose another"
    )


def page_for(workspace: str, kind: FileKind) -> str:
    """The page that shows what a file of this kind changes, or "" if the current page does."""
    if kind == "cluster":
        return "Cluster"
    hidden = ("Cluster", *WITHOUT_SCENARIO) if kind == "gpu" else WITHOUT_SCENARIO
    return "Explore" if workspace in hidden else ""


def code_of(scenario: Scenario) -> Path | None:
    """The user's file whose code runs when a scenario is traced; None for a built-in network."""
    name, _, _ = scenario.network.partition(".py")
    return Path(f"{name}.py") if ".py" in scenario.network else None


def _json_kind(path: Path) -> Literal["profile", "host", "trace"]:
    """The kind of a JSON file by its first keys."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; choose another") from error
    if b'"traceEvents"' in head or b'"schemaVersion"' in head:
        return "profile"
    return "host" if b'"cpu"' in head and b'"version"' in head else "trace"


def _toml_kind(path: Path) -> Literal["scenario", "plan", "gpu", "cluster", "lesson"]:
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
    from app.lessons import lesson_file, pack  # imported when first needed, to start faster

    if table.get("format") in (lesson_file.FORMAT, pack.FORMAT):
        return "lesson"
    if "workload" in table:
        return "plan"
    return "cluster" if _CLUSTER_KEYS & table.keys() else "gpu"
