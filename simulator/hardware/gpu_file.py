"""The TOML file of a GPU: its keys, their bounds, and the errors of a malformed file."""

from __future__ import annotations

import re
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec.structs import asdict

from simulator.errors import InputError
from simulator.formats.limited import LONGEST_LINE, contents
from simulator.formats.toml import shown

_MAX_BYTES = 64 * 1024

SI = {
    "_gib": ("_bytes", 2**30),
    "_mib": ("_bytes", 2**20),
    "_gbytes_per_s": ("_bytes_per_s", 1e9),
    "_mhz": ("_hz", 1e6),
    "_tflops": ("_flops_per_s", 1e12),
}
"""The unit at the end of a key, the unit at the end of the GPU's field, and the factor between
them."""

# The bounds are wide: they catch a wrong unit or a typing error, not an unusual GPU.
_Figure = Annotated[float, msgspec.Meta(ge=1e-3, le=1e7)]
_Rate = Annotated[float, msgspec.Meta(ge=0.1, le=1e6)]
_Clock = Annotated[float, msgspec.Meta(ge=10, le=1e5)]
_Share = Annotated[float, msgspec.Meta(ge=0.05, le=1)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]

_SHARES = ("sustained_tensor", "sustained_vector", "sustained_memory", "l2_reach")
_EXPECTED = {  # clearer texts than msgspec's, for likely mistakes
    "compute_capability": 'a version in quotes, such as "8.9"',
    **dict.fromkeys(_SHARES, "a share from 0.05 to 1, such as 0.8"),
}


class Dtypes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of figures by dtype, in the unit at the end of its key."""

    fp64: _Figure | None = None
    fp32: _Figure | None = None
    tf32: _Figure | None = None
    fp16: _Figure | None = None
    bf16: _Figure | None = None
    fp8: _Figure | None = None
    int8: _Figure | None = None
    fp4: _Figure | None = None

    def times(self, scale: float) -> dict[str, float]:
        """The stated figures by dtype."""
        return {dtype: value * scale for dtype, value in asdict(self).items() if value is not None}


class GPUFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of a GPU's TOML file; keys without a default and one peak are required."""

    name: _Text
    aliases: tuple[_Text, ...] = ()
    vendor: _Text | None = None
    architecture: _Text | None = None
    compute_capability: Annotated[str, msgspec.Meta(pattern=r"^\d{1,2}\.\d$")] | None = None
    notes: _Text | None = None
    units: Annotated[int, msgspec.Meta(ge=1, le=100_000)] | None = None
    boost_mhz: _Clock | None = None
    tensor_mhz: _Clock | None = None  # default: the boost clock
    memory_type: _Text | None = None
    memory_gib: _Rate
    bandwidth_gbytes_per_s: _Rate
    l2_mib: _Figure | None = None
    l2_bandwidth_gbytes_per_s: _Rate | None = None
    llc_mib: _Figure | None = None
    interconnect: _Text | None = None
    interconnect_gbytes_per_s: _Rate | None = None
    tdp_w: _Rate | None = None
    power_limit_w: _Rate | None = None
    sustained_tensor: _Share | None = None
    sustained_vector: _Share | None = None
    sustained_memory: _Share | None = None
    l2_reach: _Share | None = None
    price_usd: _Figure | None = None
    tensor_tflops: Dtypes = Dtypes()
    vector_tflops: Dtypes = Dtypes()
    tensor_flops_per_clock_per_unit: Dtypes = Dtypes()
    vector_flops_per_clock_per_unit: Dtypes = Dtypes()
    unsourced: tuple[str, ...] = ()
    sources: dict[_Text, tuple[str, ...]] = {}


def read(path: Path) -> dict[str, Any]:
    """The fields of the GPU that a file describes, in SI units. Raises InputError if it is
    invalid."""
    raw = contents(path, "a GPU's file", _MAX_BYTES, LONGEST_LINE)
    try:
        table = tomllib.loads(raw.decode())
    except (ValueError, RecursionError) as error:  # not UTF-8 or TOML, or nested too deeply
        raise InputError(
            f"{path}: not TOML: {error}; expected lines such as `units = 108`; correct the file"
        ) from None
    return {"id": path.stem, **of_table(table, str(path))}


def of_table(table: dict[str, Any], place: str) -> dict[str, Any]:
    """The fields of the GPU that the keys of a file describe, in SI units. Raises InputError, which
    begins with `place`, if they are invalid."""
    try:
        file = msgspec.convert(table, GPUFile)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {_complaint(str(error), table)}") from None
    if not (file.tensor_tflops.times(1) or file.vector_tflops.times(1)):
        raise InputError(
            f"{place}: no peak: expected a figure in [tensor_tflops] or [vector_tflops]; add one"
        )
    fields = _fields(file)
    fields["sources"], fields["unsourced"] = _provenance(place, file)
    return fields


def _fields(file: GPUFile) -> dict[str, Any]:
    """The figures and texts of a file as fields of a GPU, in SI units."""
    fields: dict[str, Any] = {}
    for key, value in asdict(file).items():
        human = next((suffix for suffix in SI if key.endswith(suffix)), "")
        unit, scale = SI.get(human, ("", 1))
        if isinstance(value, Dtypes):
            value = value.times(scale)
        elif human and value is not None:
            value = round(value * scale) if unit == "_bytes" else value * scale
        fields[key.removesuffix(human) + unit] = value
    if file.compute_capability:
        fields["compute_capability"] = tuple(map(int, file.compute_capability.split(".")))
    fields["tensor_hz"] = fields["tensor_hz"] or fields["boost_hz"]
    return fields


def _provenance(place: str, file: GPUFile) -> tuple[dict[str, str], tuple[str, ...]]:
    """The source by figure, and the figures without a source; a table's name stands for all its
    figures."""
    values = asdict(file).items()
    dtypes = {key: value.times(1) for key, value in values if isinstance(value, Dtypes)}
    tables = {key: [f"{key}.{dtype}" for dtype in table] for key, table in dtypes.items()}
    figures = [key for key, value in values if isinstance(value, int | float)]
    figures += [figure for table in tables.values() for figure in table]
    stated: dict[str, str | None] = {}
    for source, keys in ((None, file.unsourced), *file.sources.items()):
        for figure in (figure for key in keys for figure in tables.get(key) or [key]):
            if figure not in figures or figure in stated:
                raise InputError(
                    f"{place}: `sources` and `unsourced` name {shown(figure)}: expected figures of "
                    "this file (such as 'tensor_tflops.bf16'), each once; correct or remove it"
                )
            stated[figure] = source
    sources = {figure: source for figure, source in stated.items() if source}
    return sources, tuple(figure for figure in figures if figure not in sources)


def _complaint(reason: str, table: dict[str, Any]) -> str:
    """The text of a msgspec error: the wrong value, what was expected and how to correct it."""
    reason, _, place = reason.partition(" - at ")
    key = re.sub(r"\[.*", "", place.strip("`").removeprefix("$").removeprefix("."))
    if unknown := re.search(r"unknown field `(.*)`", reason, re.DOTALL):
        known = Dtypes.__struct_fields__ if key else GPUFile.__struct_fields__
        near = get_close_matches(unknown[1][:64], known, n=1)
        expected = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}."
        value = shown(unknown[1]) + (f" in [{key}]" if key else "")
        return f"unknown key {value}: {expected} Correct or remove it"
    if missing := re.search(r"required field `(.*)`", reason):
        needed = "name, memory_gib, bandwidth_gbytes_per_s and a peak"
        return f"{missing[1]!r} is missing: expected at least {needed}; add it"
    value: Any = table
    for part in key.split("."):
        value = value[part]
    expected = f"expected {_EXPECTED[key]}" if key in _EXPECTED else reason[:1].lower() + reason[1:]
    return f"{key} is {shown(value)}: {expected}; correct it"
