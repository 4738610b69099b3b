"""The contents of the GPU form: a text and a provenance for each figure, without widgets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal

from app.quantities import number, plain
from simulator.errors import InputError
from simulator.hardware.derived_peak import DerivedPeak, clock_hz
from simulator.hardware.gpu import Engine
from simulator.hardware.gpu_keys import KEYS, Key, Table, dtypes, figures, provenance

Kind = Literal["data sheet", "measured", "assumed"]
KINDS: tuple[Kind, ...] = ("data sheet", "measured", "assumed")
_MEASURED = "measured"
_LABELS = {
    "l2": "L2", "l2 bandwidth": "L2 bandwidth", "llc": "Last-level cache", "tdp": "TDP",
    "boost": "Boost clock", "tensor": "Tensor clock", "units": "Units (SM, CU)",
    "aliases": "Other names", "interconnect": "Interconnect", "price": "Price",
}  # fmt: skip
_NAMES = {key.name: key for key in KEYS}


@dataclass(frozen=True)
class Entry:
    """A text as typed, with the kind and the text of its source."""

    text: str = ""
    kind: Kind = "assumed"
    source: str = ""


class Sheet:
    """Entries by key ("units", "tensor_tflops.bf16", "name"). A changed figure counts as assumed
    until its source is set."""

    def __init__(self, table: Table) -> None:
        self.initial = {name: _entry(table, name) for name in names()}
        self.entries = dict(self.initial)

    def type(self, name: str, text: str) -> None:
        """Set the text of an entry."""
        initial = self.initial[name]
        if text.strip() == initial.text:
            self.entries[name] = initial
            return
        current = self.entries[name]
        changed = (current.kind, current.source) != (initial.kind, initial.source)
        kind, source = (current.kind, current.source) if changed else ("assumed", "")
        self.entries[name] = Entry(text.strip(), kind, source)

    def set_source(self, name: str, kind: Kind, source: str) -> None:
        """Set the source of a figure."""
        self.entries[name] = replace(self.entries[name], kind=kind, source=source.strip())

    def wrong(self, name: str) -> str:
        """The error of an entry, or ""."""
        key, entry = key_of(name), self.entries[name]
        if not entry.text:
            return f"{label(name)} is missing: expected {_expected(key)}" if key.required else ""
        if key.kind in ("text", "names"):
            return ""
        error = f"{label(name)} is {entry.text[:40]!r}: expected {_expected(key)}"
        value = _number(entry.text)
        if value is None or (key.kind == "count" and not value.is_integer()):
            return error
        if key.low is not None and key.high is not None and not key.low <= value <= key.high:
            return error
        if entry.kind == "data sheet" and not entry.source:
            return f"{label(name)}: expected the name or link of its data sheet"
        return ""

    def complaints(self) -> list[str]:
        """All errors."""
        errors = [words for name in self.entries if (words := self.wrong(name))]
        peaks = [name for name in self.entries if "_tflops." in name and self.entries[name].text]
        if not peaks:
            errors.append("no peak: expected a figure for the tensor cores or the vector units")
        return errors

    def value(self, name: str) -> float | None:
        """The value of a figure; None if it is empty or invalid."""
        entry = self.entries[name]
        return _number(entry.text) if entry.text and not self.wrong(name) else None

    def peak(self, engine: Engine, dtype: str) -> DerivedPeak | None:
        """The stated peak of an engine and units × clock × FLOPs; None if a figure is missing."""
        boost, tensor = self.value("boost_mhz"), self.value("tensor_mhz")
        clock = clock_hz(engine, dtype, boost and boost * 1e6, tensor and tensor * 1e6)
        units = self.value("units")
        per_unit = self.value(f"{engine}_flops_per_clock_per_unit.{dtype}")
        stated = self.value(f"{engine}_tflops.{dtype}")
        if not (units and clock and per_unit and stated):
            return None
        return DerivedPeak(int(units), clock, per_unit, stated * 1e12)

    def table(self) -> dict[str, Any]:
        """The keys of the GPU's file. Raises InputError with the first error."""
        if complaints := self.complaints():
            raise InputError(complaints[0])
        keys: dict[str, Any] = {}
        for name, entry in self.entries.items():
            whole, _, dtype = name.partition(".")
            key = _NAMES[whole]
            if not entry.text:
                continue
            if dtype:
                keys.setdefault(whole, {})[dtype] = _short(entry.text)
            elif key.kind == "names":
                keys[whole] = [part.strip() for part in entry.text.split(",") if part.strip()]
            else:
                keys[whole] = entry.text if key.kind == "text" else _short(entry.text)
        stated = {name: _stated(self.entries[name]) for name in figures(keys)}
        return {**keys, **provenance(stated)}


def names() -> list[str]:
    """All entries, in the order of a GPU file."""
    entries: list[str] = []
    for key in KEYS:
        entries += [f"{key.name}.{d}" for d in dtypes()] if key.kind == "dtypes" else [key.name]
    return entries


def key_of(name: str) -> Key:
    """The key of an entry."""
    return _NAMES[name.partition(".")[0]]


def label(name: str) -> str:
    """The label of an entry, such as "L2 bandwidth" or "Tensor peak at bf16"."""
    whole, _, dtype = name.partition(".")
    if dtype:
        engine, _, rest = whole.partition("_")
        return (
            f"{engine.capitalize()} {'peak' if rest == 'tflops' else 'FLOPs per clock'} at {dtype}"
        )
    words = _NAMES[whole].words
    return _LABELS.get(words, words.capitalize())


def check_words(peak: DerivedPeak) -> str:
    """The factors of a peak and their product, as a formula."""
    parts = (
        f"{peak.units:,} × {number(peak.hz / 1e6, 4)} MHz × {plain(peak.flops_per_clock_per_unit)}"
    )
    return f"{parts} = {number(peak.flops_per_s / 1e12, 4)} TFLOP/s"


def _entry(table: Table, name: str) -> Entry:
    whole, _, dtype = name.partition(".")
    value: Any = table.get(whole)
    if dtype:
        by_dtype: dict[str, Any] = value or {}
        value = by_dtype.get(dtype)
    if value is None:
        return Entry()
    if isinstance(value, str):
        return Entry(value)
    if isinstance(value, list | tuple):
        return Entry(", ".join(map(str, value)))  # pyright: ignore[reportUnknownArgumentType]
    sources: dict[str, list[str]] = table.get("sources", {})
    for source, keys in sources.items():
        if name in keys or whole in keys:
            measured = source.startswith(_MEASURED)
            text = source.removeprefix(_MEASURED).lstrip(": ") if measured else source
            return Entry(_text(value), "measured" if measured else "data sheet", text)
    return Entry(_text(value))


def _stated(entry: Entry) -> str | None:
    """The source as written in a GPU file."""
    if entry.kind == "measured":
        return f"{_MEASURED}: {entry.source}" if entry.source else _MEASURED
    return entry.source if entry.kind == "data sheet" else None


def _expected(key: Key) -> str:
    if key.low is None or key.high is None:
        return "a name"
    kind = "a whole number" if key.kind == "count" else "a number"
    return f"{kind} from {plain(key.low)} to {plain(key.high)} {key.unit}".rstrip()


def _number(text: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if isfinite(value) else None


def _short(text: str) -> float:
    """A valid number, as an int if it is whole."""
    value = float(text.replace(",", ""))
    return int(value) if value.is_integer() else value


def _text(value: float) -> str:
    return plain(value).replace("−", "-") if float(value).is_integer() else f"{value:,}"
