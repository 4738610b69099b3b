"""The keys of a lesson's TOML file, and the errors for invalid keys and values."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Annotated, Literal, get_args, get_type_hints

import msgspec

from app.lessons.lesson import Choose
from simulator.formats.toml import shown
from simulator.modes import Mode


class ChangeKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys that change a scenario: those of `solution` in [task]."""

    gpu: str | None = None
    host: str | None = None
    mode: Mode | None = None
    batch: int | None = None
    seq: int | None = None
    dtype: str | None = None
    training: bool | None = None
    optimizer: str | None = None
    sizes: dict[str, bool | int | float | str] = {}
    whatif: list[str] = []


class SideKeys(ChangeKeys, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of [a] to [d]."""

    label: str = ""
    network: str | None = None
    cluster: str | None = None
    parallel: str | None = None


class CardKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of a [[card]] or a [[point]]."""

    name: str
    figure: str = ""
    note: str = ""
    regime: Literal["", "compute", "memory", "overhead", "communication", "a", "b", "c", "d"] = ""


class TaskKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of [task]."""

    do: str
    figure: str = ""
    at_least: float | None = None
    at_most: float | None = None
    regime: Literal["", "compute", "memory", "overhead"] = ""
    keep: list[str] = []
    solution: ChangeKeys | None = None


class FileKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of the whole file."""

    format: Literal["ridgepoint-lesson"]
    version: int
    title: str
    question: str
    explain: str
    topic: str = ""
    guess: str | None = None
    ask: list[str] = []
    over: str = ""
    values: list[int] = []
    markers: list[int] = []
    low: float | None = None
    high: float | None = None
    choose: Choose = ""
    choice: str = ""
    of: str = "a"
    card: list[CardKeys] = []
    point: list[CardKeys] = []
    opens: str = "a"
    minutes: Annotated[int, msgspec.Meta(ge=1, le=240)] | None = None
    needs: str = ""
    task: TaskKeys | None = None
    a: SideKeys
    b: SideKeys | None = None
    c: SideKeys | None = None
    d: SideKeys | None = None


def complaint(reason: str) -> str:
    """Turn a validation error of msgspec into a message with the value, the expected value and a
    remedy."""
    reason, _, where = reason.partition(" - at ")
    key = where.strip("`").removeprefix("$").removeprefix(".")
    if unknown := re.search(r"unknown field `(.*)`", reason, re.DOTALL):
        known_keys = _struct(key).__struct_fields__
        near = get_close_matches(unknown[1][:64], known_keys, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known_keys)};"
        inside = f" in {key}" if key else ""
        return f"unknown key {shown(unknown[1])}{inside}: {hint} correct or remove it"
    if missing := re.search(r"required field `(.*)`", reason):
        if key:
            return f"{key} has no {missing[1]}: expected one with its figure; add it"
        return (
            f"{missing[1]!r} is missing: expected format, version, title, question, explain and "
            "[a]; add it"
        )
    if choice := re.search(r"Invalid enum value '(.*)'", reason, re.DOTALL):
        hint = get_type_hints(_struct(key))[key.rpartition(".")[2]]
        options = [word for word in _literals(hint) if word]
        return f"{key} is {shown(choice[1])}: expected {' or '.join(options)}; correct it"
    if wrong_type := re.search(r"Expected `(.*?)`, got `(.*?)`", reason):
        kinds = [_KINDS.get(kind, kind) for kind in wrong_type[1].split(" | ") if kind != "null"]
        actual = _KINDS.get(wrong_type[2], wrong_type[2])
        return f"{key or 'the file'} must be {' or '.join(kinds)}, not {actual}; correct it"
    return f"{key or 'the file'}: {reason[:1].lower()}{reason[1:]}; correct it"


_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
"""Types as msgspec names them, in words."""


def _literals(hint: object) -> list[str]:
    """The literals that a type allows."""
    if isinstance(hint, str):
        return [hint]
    return [word for part in get_args(hint) for word in _literals(part)]


def _struct(key: str) -> type[CardKeys | ChangeKeys | TaskKeys | FileKeys]:
    """The struct of a wrong key."""
    if key.startswith("task.solution"):
        return ChangeKeys
    first = key.partition("[")[0].partition(".")[0]
    if first in ("card", "point"):
        return CardKeys
    if first == "task":
        return TaskKeys
    return SideKeys if first in ("a", "b", "c", "d") else FileKeys
