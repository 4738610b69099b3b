"""What is filled in of a GPU: a text and a provenance by figure; no widget."""

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
_SPELLED = {
    "l2": "L2", "l2 bandwidth": "L2 bandwidth", "llc": "Last-level cache", "tdp": "TDP",
    "boost": "Boost clock", "tensor": "Tensor clock", "units": "Units (SM, CU)",
    "aliases": "Other names", "interconnect": "Interconnect", "price": "Price",
}  # fmt: skip
_NAMES = {key.name: key for key in KEYS}


@dataclass(frozen=True)
class Entry:
    """A text as it is typed, where its figure is from, and the words of the source."""

    text: str = ""
    kind: Kind = "assumed"
    source: str = ""


class Sheet:
    """Entries by figure ("units", "tensor_tflops.bf16") and by text ("name"). A figure that is
    changed is assumed until somebody says where it is from."""

    def __init__(self, table: Table) -> None:
        self.given = {name: _given(table, name) for name in names()}
        self.entries = dict(self.given)

    def type(self, name: str, text: str) -> None:
        """Another text."""
        given = self.given[name]
        if text.strip() == given.text:
            self.entries[name] = given
            return
        now = self.entries[name]
        told = (now.kind, now.source) != (given.kind, given.source)
        kind, source = (now.kind, now.source) if told else ("assumed", "")
        self.entries[name] = Entry(text.strip(), kind, source)

    def tell(self, name: str, kind: Kind, source: str) -> None:
        """Say where a figure is from."""
        self.entries[name] = replace(self.entries[name], kind=kind, source=source.strip())

    def wrong(self, name: str) -> str:
        """What is wrong with an entry, in words; "" where nothing is."""
        key, entry = key_of(name), self.entries[name]
        if not entry.text:
            return f"{label(name)} is missing: expected {_expected(key)}" if key.required else ""
        if key.kind in ("text", "names"):
            return ""
        came = f"{label(name)} is {entry.text[:40]!r}: expected {_expected(key)}"
        value = _number(entry.text)
        if value is None or (key.kind == "count" and not value.is_integer()):
            return came
        if key.low is not None and key.high is not None and not key.low <= value <= key.high:
            return came
        if entry.kind == "data sheet" and not entry.source:
            return f"{label(name)}: expected the name or the link of its data sheet"
        return ""

    def complaints(self) -> list[str]:
        """Everything that is wrong."""
        found = [words for name in self.entries if (words := self.wrong(name))]
        peaks = [name for name in self.entries if "_tflops." in name and self.entries[name].text]
        if not peaks:
            found.append("no peak: expected a figure of the tensor cores or of the vector units")
        return found

    def value(self, name: str) -> float | None:
        """A figure that is right; None for one that is not, or left out."""
        entry = self.entries[name]
        return _number(entry.text) if entry.text and not self.wrong(name) else None

    def peak(self, engine: Engine, dtype: str) -> DerivedPeak | None:
        """An engine's stated peak beside that of its parts; None where one of them is not known."""
        boost, tensor = self.value("boost_mhz"), self.value("tensor_mhz")
        clock = clock_hz(engine, dtype, boost and boost * 1e6, tensor and tensor * 1e6)
        units = self.value("units")
        each = self.value(f"{engine}_flops_per_clock_per_unit.{dtype}")
        stated = self.value(f"{engine}_tflops.{dtype}")
        if not (units and clock and each and stated):
            return None
        return DerivedPeak(int(units), clock, each, stated * 1e12)

    def table(self) -> dict[str, Any]:
        """The keys of the GPU's file. InputError with the first of what is wrong."""
        if complaints := self.complaints():
            raise InputError(complaints[0])
        found: dict[str, Any] = {}
        for name, entry in self.entries.items():
            whole, _, dtype = name.partition(".")
            key = _NAMES[whole]
            if not entry.text:
                continue
            if dtype:
                found.setdefault(whole, {})[dtype] = _short(entry.text)
            elif key.kind == "names":
                found[whole] = [part.strip() for part in entry.text.split(",") if part.strip()]
            else:
                found[whole] = entry.text if key.kind == "text" else _short(entry.text)
        stated = {name: _stated(self.entries[name]) for name in figures(found)}
        return {**found, **provenance(stated)}


def names() -> list[str]:
    """Every entry, in the order of a file."""
    found: list[str] = []
    for key in KEYS:
        found += [f"{key.name}.{d}" for d in dtypes()] if key.kind == "dtypes" else [key.name]
    return found


def key_of(name: str) -> Key:
    """The key that an entry is of."""
    return _NAMES[name.partition(".")[0]]


def label(name: str) -> str:
    """An entry's name for people: "L2 bandwidth", "tensor peak at bf16"."""
    whole, _, dtype = name.partition(".")
    if dtype:
        engine, _, rest = whole.partition("_")
        return f"{engine.capitalize()} {'peak' if rest == 'tflops' else 'FLOPs a clock'} at {dtype}"
    words = _NAMES[whole].words
    return _SPELLED.get(words, words.capitalize())


def check_words(peak: DerivedPeak) -> str:
    """The sum, and how far the stated peak is from it."""
    parts = (
        f"{peak.units:,} × {number(peak.hz / 1e6, 4)} MHz × {plain(peak.flops_per_clock_per_unit)}"
    )
    return f"{parts} = {number(peak.flops_per_s / 1e12)} TFLOP/s"


def _given(table: Table, name: str) -> Entry:
    whole, _, dtype = name.partition(".")
    value: Any = table.get(whole)
    if dtype:
        value = (value or {}).get(dtype)
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
            said = source.removeprefix(_MEASURED).lstrip(": ") if measured else source
            return Entry(_text(value), "measured" if measured else "data sheet", said)
    return Entry(_text(value))


def _stated(entry: Entry) -> str | None:
    """The source as a file has it."""
    if entry.kind == "measured":
        return f"{_MEASURED}: {entry.source}" if entry.source else _MEASURED
    return entry.source if entry.kind == "data sheet" else None


def _expected(key: Key) -> str:
    if key.low is None or key.high is None:
        return "a name"
    whole = "a whole number" if key.kind == "count" else "a number"
    return f"{whole} of {plain(key.low)} to {plain(key.high)} {key.unit}".rstrip()


def _number(text: str) -> float | None:
    try:
        found = float(text.replace(",", ""))
    except ValueError:
        return None
    return found if isfinite(found) else None


def _short(text: str) -> float:
    """A number that is right, whole where it is."""
    found = float(text.replace(",", ""))
    return int(found) if found.is_integer() else found


def _text(value: float) -> str:
    return plain(value).replace("−", "-") if float(value).is_integer() else repr(value)
