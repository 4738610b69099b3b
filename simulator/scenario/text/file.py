"""The TOML file of a scenario: plain keys, a version, and one table for each what-if."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import msgspec

from simulator.errors import InputError
from simulator.formats.limited import LONGEST_LINE, contents
from simulator.formats.toml import literal, shown
from simulator.formats.toml import table as toml_table
from simulator.scenario.registry import named
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Applied, Scenario

VERSION = 1
_MAX_BYTES = 64 * 1024


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    format: Literal["ridgepoint-scenario"]
    version: int
    network: str
    gpu: str | dict[str, Any] = "h200"
    host: str | None = None
    host_speed: float = 1.0
    mode: str = "eager"
    batch: int | None = None
    seq: int | None = None
    dtype: str | None = None
    training: bool | None = None
    optimizer: str | None = None
    sizes: dict[str, Any] = {}
    data_sizes: dict[str, int] = {}
    whatif: list[dict[str, Any]] = []


_PLAIN = (
    "network",
    "gpu",
    "host",
    "host_speed",
    "mode",
    "batch",
    "seq",
    "dtype",
    "training",
    "optimizer",
)


def text(scenario: Scenario) -> str:
    """The text of the file. Reading it gives an equal scenario."""
    lines = ['format = "ridgepoint-scenario"', f"version = {VERSION}"]
    tables: list[str] = []
    for name in _PLAIN:
        value = getattr(scenario, name)
        if isinstance(value, Mapping):
            tables += toml_table(name, value)  # pyright: ignore[reportUnknownArgumentType]
        elif value is not None and not (name == "host_speed" and value == 1.0):
            lines.append(f"{name} = {literal(value)}")
    for name in ("sizes", "data_sizes"):
        if getattr(scenario, name):
            tables += toml_table(name, getattr(scenario, name))
    for applied in scenario.whatifs:
        tables += ["", "[[whatif]]", f"name = {literal(applied.name)}"]
        tables += [f"{key} = {literal(value)}" for key, value in applied.arguments.items()]
    return "\n".join([*lines, *tables]) + "\n"


def table(scenario: Scenario) -> dict[str, Any]:
    """The keys of the file as plain data. `of_table` gives an equal scenario."""
    keys: dict[str, Any] = {"format": "ridgepoint-scenario", "version": VERSION}
    for name in _PLAIN:
        value = getattr(scenario, name)
        if value is not None and not (name == "host_speed" and value == 1.0):
            keys[name] = dict(value) if isinstance(value, Mapping) else value  # pyright: ignore
    keys |= {k: dict(v) for k in ("sizes", "data_sizes") if (v := getattr(scenario, k))}
    if scenario.whatifs:
        keys["whatif"] = [{"name": a.name, **a.arguments} for a in scenario.whatifs]
    return keys


def of_table(keys: dict[str, Any]) -> Scenario:
    """The scenario of a file's keys. Raises InputError for unknown keys or another version."""
    if keys.get("version") != VERSION and keys.get("format") == "ridgepoint-scenario":
        raise InputError(
            f"scenario version {shown(keys.get('version'))}: expected {VERSION}; save the "
            "scenario again"
        )
    try:
        file = msgspec.convert(keys, _File)
    except msgspec.ValidationError as error:
        raise InputError(_complaint(str(error), keys)) from None
    return _checked(file)


def read(path: Path) -> Scenario:
    """Read the scenario of a file. Raises InputError if it cannot be read or is not valid."""
    raw = contents(path, "a scenario", _MAX_BYTES, LONGEST_LINE)
    try:
        table = tomllib.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: not TOML: {error}; expected lines such as `batch = 8`; correct the file"
        ) from None
    version = table.get("version")
    if table.get("format") == "ridgepoint-scenario" and version != VERSION:
        raise InputError(
            f"{path} has scenario version {shown(version)}: expected {VERSION}; save the scenario "
            "again"
        )
    try:
        file = msgspec.convert(table, _File)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {_complaint(str(error), table)}") from None
    try:
        return _checked(file)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _checked(file: _File) -> Scenario:
    applied: list[Applied] = []
    for entry in file.whatif:
        name = entry.get("name")
        if not isinstance(name, str):
            raise InputError('a [[whatif]] has no name: expected name = "cuda_graph"; add it')
        arguments = {key: value for key, value in entry.items() if key != "name"}
        applied.append(Applied(name, named(name).checked(arguments)))
    scenario = Scenario(
        **{name: getattr(file, name) for name in _PLAIN},
        data_sizes=file.data_sizes,
        sizes={k: tuple(v) if isinstance(v, list) else v for k, v in file.sizes.items()},  # pyright: ignore
        whatifs=tuple(applied),
    )
    resolve(scenario)  # raises InputError here rather than at the prediction
    return scenario


def _complaint(reason: str, table: dict[str, Any]) -> str:
    if unknown := re.search(r"unknown field `(.*)`", reason, re.DOTALL):
        keys = _File.__struct_fields__
        near = get_close_matches(unknown[1][:64], keys, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(keys)};"
        return f"unknown key {shown(unknown[1])}: {hint} correct or remove it"
    if missing := re.search(r"required field `(.*)`", reason):
        return (
            f'{missing[1]!r} is missing: expected format = "ridgepoint-scenario", version and '
            "network at least; add it"
        )
    reason, _, place = reason.partition(" - at ")
    key = place.strip("`").removeprefix("$").removeprefix(".").partition("[")[0].partition(".")[0]
    subject = f"{key} is {shown(table[key])}" if key in table else "the file"
    return f"{subject}: {reason[:1].lower()}{reason[1:]}; correct it"
