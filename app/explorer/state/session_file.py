"""The session file: readable JSON, versioned, validated, and written atomically.

Scenarios have the keys of `simulator.scenario.text.file`. Layouts of docks are Qt's bytes in
base 64; an invalid layout is ignored.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from app.answers.cluster.choice import ClusterChoice
from app.explorer.state.session import LETTERS, NamedScenario, State, ThemeChoice
from app.outputs import whole
from app.scenes.timeline.pins import MOST_PINS, Pin, Pins, Track
from simulator.errors import InputError
from simulator.formats.limited import contents
from simulator.scenario.scenario import Scenario
from simulator.scenario.text.file import of_table, table

FORMAT, VERSION, SUFFIX = "ridgepoint-session", 1, ".ridge"
_MAX_BYTES = 2**20
_Degree = Annotated[int, msgspec.Meta(ge=1, le=2**20)]


class _Side(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    scenario: dict[str, Any]
    measured: str = ""
    measured_as: dict[str, Any] | None = None
    """The scenario on which the trace was overlaid; without it, `scenario`."""


class _Cluster(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    cluster: str
    dp: _Degree = 1
    tp: _Degree = 1
    pp: _Degree = 1
    fsdp: bool = False
    more: str = ""


class _Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    track: Track
    of: Annotated[str, msgspec.Meta(max_length=8)]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal["ridgepoint-session"]
    version: int
    sides: list[_Side]
    current: int = 0
    picked: list[int] = []
    theme: ThemeChoice = "dark"
    workspace: str = "Explore"
    docks: dict[str, str] = {}
    plan: str = ""
    """The TOML of the plan, or ""."""
    cluster: _Cluster | None = None
    pinned: list[_Pin] = []
    task: Annotated[str, msgspec.Meta(max_length=200)] = ""
    saved_as: str = ""
    """In an autosave, the path of the session's own file, or ""."""


def text(state: State, docks: dict[str, str] | None = None, saved_as: Path | None = None) -> str:
    """The text of the file. Reading it restores the state, and writing that state gives the same
    text.
    """
    body = {
        "format": FORMAT,
        "version": VERSION,
        "sides": [_side(side) for side in state.sides],
        "current": state.current,
        "picked": sorted(state.picked),
        "theme": state.theme,
        "workspace": state.workspace,
        "docks": dict(sorted((docks or {}).items())),
    }
    if state.plan:
        body["plan"] = state.plan
    if state.cluster is not None:
        body["cluster"] = asdict(state.cluster)
    if state.pinned:
        body["pinned"] = [asdict(pin) for pin in state.pinned]
    if state.task:
        body["task"] = state.task
    if saved_as is not None:
        body["saved_as"] = str(saved_as)
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _side(side: NamedScenario) -> dict[str, Any]:
    measured: dict[str, Any] = {"measured": side.measured} if side.measured else {}
    if side.measured_as is not None:
        measured["measured_as"] = table(side.measured_as)
    return {"name": side.name, "scenario": table(side.scenario), **measured}


def save(path: Path, state: State, docks: dict[str, str] | None = None) -> None:
    """Write a session. Raises InputError if writing fails."""
    body = text(state, docks)
    try:
        whole(path, lambda part: part.write_text(body, "utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot write the session {path}: {error.strerror}: expected a writable folder; "
            "choose another"
        ) from error


def load(path: Path) -> tuple[State, dict[str, str]]:
    """Read the state and the layout of a session file. Raises InputError if it is invalid."""
    return _check(path, _decode(path))


def load_autosave(path: Path) -> tuple[State, dict[str, str], Path | None]:
    """Read an autosave like `load`, and return the path of the session's own file or None."""
    file = _decode(path)
    return *_check(path, file), Path(file.saved_as) if file.saved_as else None


def _decode(path: Path) -> _File:
    raw = contents(path, "a session", _MAX_BYTES)
    try:
        return msgspec.json.decode(raw, type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{path} is not a Ridgepoint session: {error}; choose a file saved by the explorer"
        ) from None


def _check(path: Path, file: _File) -> tuple[State, dict[str, str]]:
    if file.version != VERSION:
        raise InputError(
            f"{path} has session version {file.version}: expected {VERSION}; open it with "
            "the version of Ridgepoint that wrote it, or choose another"
        )
    if not 1 <= len(file.sides) <= len(LETTERS) or not 0 <= file.current < len(file.sides):
        raise InputError(
            f"{path} has {len(file.sides)} scenarios and current = {file.current}: expected 1 to "
            f"{len(LETTERS)} scenarios and the index of one of them; correct the file"
        )
    try:
        sides = tuple(
            NamedScenario(side.name, _scenario(side), side.measured, _measured_as(side))
            for side in file.sides
        )
        if file.plan:
            from app.answers.plan.draft import Draft, checked  # only for plans: it is slow

            checked(Draft(file.plan))
    except (InputError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None
    picked = frozenset(op for op in file.picked if op >= 0)
    cluster = file.cluster and ClusterChoice(**msgspec.structs.asdict(file.cluster))
    return State(
        sides,
        file.current,
        picked,
        file.theme,
        file.workspace,
        file.plan,
        cluster,
        _pins(file, len(sides)),
        file.task,
    ), dict(file.docks)


def _pins(file: _File, sides: int) -> Pins:
    """The pins of existing scenarios and of ranks, without duplicates."""
    letters = LETTERS[:sides]
    pins = [Pin(pin.track, pin.of) for pin in file.pinned]
    known = [p for p in pins if (p.of.isdecimal() if p.track == "rank" else p.of in [*letters])]
    return tuple(dict.fromkeys(known))[:MOST_PINS]


def _scenario(side: _Side) -> Scenario:
    return of_table(side.scenario)


def _measured_as(side: _Side) -> Scenario | None:
    return None if side.measured_as is None else of_table(side.measured_as)
