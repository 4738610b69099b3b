"""Convert a GPU to the keys of its file, and write the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import inspect, json

from simulator.errors import InputError
from simulator.formats.atomic import part_of
from simulator.formats.toml import literal
from simulator.formats.toml import table as toml_table
from simulator.hardware.gpu import GPU, taken, users
from simulator.hardware.gpu_file import SI, Dtypes, GPUFile, of_table, read

Kind = Literal["text", "names", "number", "count", "dtypes"]
Table = Mapping[str, Any]
_UNITS = {
    "_gib": "GiB", "_mib": "MiB", "_gbytes_per_s": "GB/s", "_mhz": "MHz", "_tflops": "TFLOP/s",
    "_w": "W", "_usd": "US$", "_flops_per_clock_per_unit": "FLOP per clock and unit",
}  # fmt: skip
_LONG_LINE = 90


@dataclass(frozen=True)
class Key:
    """A key of the file. `unit` is the unit at the end of its name, as people write it; `low` and
    `high` bound a number, and each number of a table of dtypes."""

    name: str
    kind: Kind
    unit: str
    low: float | None
    high: float | None
    required: bool

    @property
    def words(self) -> str:
        """The name without the unit: "l2 bandwidth"."""
        suffix = next((end for end in _UNITS if self.name.endswith(end)), "")
        return self.name.removesuffix(suffix).replace("_", " ")


def _key(field: inspect.Field) -> Key:
    kind: Kind = "text"
    low = high = None
    parts = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
    for part in parts:
        if isinstance(part, inspect.StructType):
            part, kind = _first_number(part), "dtypes"
        elif isinstance(part, inspect.FloatType | inspect.IntType):
            kind = "count" if isinstance(part, inspect.IntType) else "number"
        elif isinstance(part, inspect.VarTupleType):
            kind = "names"
        if isinstance(part, inspect.FloatType | inspect.IntType):
            low, high = part.ge, part.le
    unit = next((unit for end, unit in _UNITS.items() if field.name.endswith(end)), "")
    return Key(field.name, kind, unit, low, high, field.required)


def _first_number(table: inspect.StructType) -> inspect.Type:
    of = table.fields[0].type
    return of.types[0] if isinstance(of, inspect.UnionType) else of


def _keys() -> tuple[Key, ...]:
    type_info = inspect.type_info(GPUFile)
    assert isinstance(type_info, inspect.StructType)
    return tuple(
        _key(each) for each in type_info.fields if each.name not in ("sources", "unsourced")
    )


KEYS = _keys()
"""Every key except those for sources, in the order of a file."""


def table(gpu: GPU) -> dict[str, Any]:
    """The keys of a GPU's file, in the units of the file; `of_table` is the inverse."""
    keys: dict[str, Any] = {}
    for key in KEYS:
        end = next((end for end in SI if key.name.endswith(end)), "")
        unit, scale = SI.get(end, ("", 1))
        value: Any = getattr(gpu, key.name.removesuffix(end) + unit)
        if key.name == "compute_capability" and value:
            value = ".".join(map(str, value))
        elif isinstance(value, Mapping):
            value = {name: _human(each, scale) for name, each in value.items()}  # pyright: ignore
        elif isinstance(value, int | float):
            value = _human(value, scale)
        unstated = key.name not in gpu.sources and key.name not in gpu.unsourced
        if key.name == "tensor_mhz" and unstated and gpu.tensor_hz == gpu.boost_hz:
            continue  # the file has no such key
        if value:
            keys[key.name] = list(value) if isinstance(value, tuple) else value  # pyright: ignore
    return {**keys, **provenance({f: gpu.sources.get(f) for f in figures(keys)})}


def figures(table: Table) -> list[str]:
    """The names of a file's figures, as in `sources`: "units", "tensor_tflops.bf16"."""
    names: list[str] = []
    for key in KEYS:
        value = table.get(key.name)
        if key.kind == "dtypes" and value:
            names += [f"{key.name}.{dtype}" for dtype in value]
        elif key.kind in ("number", "count") and value is not None:
            names.append(key.name)
    return names


def provenance(stated: Mapping[str, str | None]) -> dict[str, Any]:
    """The keys that give the source of each figure; None is a figure without a source. A table with
    one source for all its figures is named as a whole."""
    groups: dict[str | None, list[str]] = {}
    for figure, source in stated.items():
        whole = figure.partition(".")[0]
        parts = [each for each in stated if each.partition(".")[0] == whole]
        one_source = len(parts) > 1 and {stated[each] for each in parts} == {source}
        group = groups.setdefault(source, [])
        name = whole if one_source else figure
        if name not in group:
            group.append(name)
    sources: dict[str, Any] = {}
    if None in groups:
        sources["unsourced"] = groups.pop(None)
    if groups:
        sources["sources"] = groups
    return sources


def text(table: Table) -> str:
    """The text of a file with these keys."""
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    lines = [f"{key} = {_value(value)}" for key, value in plain.items()]
    for name, inner in table.items():
        if name == "sources":
            lines += ["", "[sources]", *(f"{literal(s)} = {_value(k)}" for s, k in inner.items())]
        elif isinstance(inner, Mapping):
            lines += toml_table(name, inner)  # pyright: ignore[reportUnknownArgumentType]
    return "\n".join(lines) + "\n"


def id_of(name: str) -> str:
    """The id for a name: "My H200" gives my_h200; empty if the name has no letters or digits."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:60]


def save(table: Table, replaced: Path | None = None) -> Path:
    """Write the keys to the user's folder, to a file with the GPU's id as name, or over `replaced`.
    Raises InputError if the keys are wrong, the name is taken, or the file cannot be written."""
    plain = json.decode(json.encode(table))
    of_table(plain, "the GPU")
    name = id_of(plain["name"])
    path = replaced or users() / f"{name}.toml"
    if not name:
        raise InputError(f"the name {plain['name']!r}: expected letters or digits; rename it")
    owner = taken([path.stem, plain["name"], *plain.get("aliases", ())], path)
    if owner is not None:
        raise InputError(
            f"the name {owner[0]!r} is taken by {owner[1].name}: expected ids, names and aliases "
            "to be unique; choose another name"
        )
    if replaced is None and path.exists():
        raise InputError(f"{path} already exists: expected a new name; choose another")
    part = part_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text(plain), "utf-8")
        _reads_again(part)
        part.replace(path)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}: expected a writable folder; use it in this "
            "session only, or name another folder in RIDGEPOINT_GPUS"
        ) from None
    finally:
        part.unlink(missing_ok=True)
    return path


def _reads_again(part: Path) -> None:
    try:
        read(part)
    except InputError as error:
        raise InputError(str(error).replace(str(part), "the GPU")) from None


def dtypes() -> tuple[str, ...]:
    """The dtypes that a peak may have."""
    return Dtypes.__struct_fields__


def _human(value: float, scale: float) -> float:
    """A figure in the file's unit: the shortest number that converts to it."""
    short = float(f"{value / scale:.9g}")
    return int(short) if short.is_integer() else short


def _value(value: Any) -> str:
    line = literal(value)
    if len(line) < _LONG_LINE or not isinstance(value, list):
        return line
    return "[\n" + "".join(f"    {literal(each)},\n" for each in cast("list[Any]", value)) + "]"
