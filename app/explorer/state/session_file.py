"""A session on disk: JSON that people can read, versioned and validated; a whole file or none.

Scenarios are written as `simulator.scenario.scenario_file` has them. The places of docks are Qt's
own bytes in base 64: what is no such thing is left where it was.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.explorer.state.session import LETTERS, Named, State, ThemeChoice
from app.outputs import whole
from simulator.errors import InputError
from simulator.formats.limited import contents
from simulator.scenario.scenario import Scenario
from simulator.scenario.scenario_file import of_table, table

FORMAT, VERSION, SUFFIX = "ridgepoint-session", 1, ".ridge"
_MAX_BYTES = 2**20


class _Side(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    scenario: dict[str, Any]
    measured: str = ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal["ridgepoint-session"]
    version: int
    sides: list[_Side]
    current: int = 0
    picked: list[int] = []
    theme: ThemeChoice = "dark"
    workspace: str = "Explore"
    docks: dict[str, str] = {}
    saved_as: str = ""
    """In what is saved by itself: the user's file of the session; "" where there is none."""


def text(state: State, docks: dict[str, str] | None = None, saved_as: Path | None = None) -> str:
    """The file's text; reading it gives an equal state, and writing that the same text."""
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
    if saved_as is not None:
        body["saved_as"] = str(saved_as)
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _side(side: Named) -> dict[str, Any]:
    measured = {"measured": side.measured} if side.measured else {}
    return {"name": side.name, "scenario": table(side.scenario), **measured}


def save(path: Path, state: State, docks: dict[str, str] | None = None) -> None:
    """Write a session. InputError where it cannot be written."""
    body = text(state, docks)
    try:
        whole(path, lambda part: part.write_text(body, "utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot write the session {path}: {error.strerror}: expected a folder that can be "
            "written; choose another place"
        ) from error


def load(path: Path) -> tuple[State, dict[str, str]]:
    """The state of a session's file, and the places of its docks. InputError, with what came, for
    a file that is none."""
    return _checked(path, _decoded(path))


def load_left(path: Path) -> tuple[State, dict[str, str], Path | None]:
    """As `load`, of what was saved by itself, and the user's file of the session."""
    found = _decoded(path)
    return *_checked(path, found), Path(found.saved_as) if found.saved_as else None


def _decoded(path: Path) -> _File:
    raw = contents(path, "a session", _MAX_BYTES)
    try:
        return msgspec.json.decode(raw, type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{path} is no session: {error}; expected a file saved by the explorer; choose another"
        ) from None


def _checked(path: Path, found: _File) -> tuple[State, dict[str, str]]:
    if found.version != VERSION:
        raise InputError(
            f"{path} has session version {found.version}: expected {VERSION}; save it again with "
            "the Ridgepoint that wrote it, or choose another"
        )
    if not 1 <= len(found.sides) <= len(LETTERS) or not 0 <= found.current < len(found.sides):
        raise InputError(
            f"{path} has {len(found.sides)} scenarios, of which number {found.current} is worked "
            f"on: expected 1 to {len(LETTERS)}; correct the file"
        )
    try:
        sides = tuple(Named(side.name, _scenario(side), side.measured) for side in found.sides)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    picked = frozenset(op for op in found.picked if op >= 0)
    state = State(sides, found.current, picked, found.theme, found.workspace)
    return state, dict(found.docks)


def _scenario(side: _Side) -> Scenario:
    return of_table(side.scenario)
