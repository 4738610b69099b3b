"""Tables of the GPUs and networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from rich import box
from rich.table import Table
from rich.text import Text

from app.answers.kernel_times import OWN_FIGURES, kernel_times
from app.quantities import data, number, scaled
from app.terminal import Terminal
from simulator.hardware.gpu import GPU, gpus
from simulator.hardware.gpu import gpu as find_gpu
from simulator.networks.catalogue import CATALOGUE
from simulator.timing.profile import learned
from simulator.timing.software import uncalibrated

_NAMED = 105  # columns of a console that has room for the names of GPUs


def _table(*columns: str, **options: Any) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        header_style="dim",
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        **options,
    )
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def _console() -> Terminal:
    return Terminal(highlight=False)


def all_gpus() -> None:
    """Print every GPU as a row of its main figures."""
    console = _console()
    table = _table("id")
    named = console.width >= _NAMED
    if named:
        table.add_column("name", no_wrap=True)
    for name in ("GiB", "TB/s", "bf16", "fp16", "fp32", "W"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("times", no_wrap=True)
    for gpu in gpus():
        tensor, vector = gpu.tensor_flops_per_s, gpu.vector_flops_per_s
        name = gpu.name if len(gpu.name) <= 25 else f"{gpu.name[:23]}…"
        table.add_row(
            gpu.id,
            *[name] * named,
            _figure(gpu.memory_bytes, 2**30),
            _figure(gpu.bandwidth_bytes_per_s, 1e12),
            _figure(tensor.get("bf16"), 1e12),
            _figure(tensor.get("fp16"), 1e12),
            _figure(vector.get("fp32"), 1e12),
            _figure(gpu.tdp_w, 1),
            kernel_times(gpu, learned(gpu.id)),
        )
    console.print(table)
    console.print(
        "bf16 and fp16: dense TFLOP/s of tensor cores; fp32: TFLOP/s of vector units; –: absent or "
        "unknown.\nKernel times are measured on this GPU, transferred (its peaks, with another\n"
        "GPU's utilisation), partly measured (transferred, with overheads and an interval\n"
        "measured on this GPU), or from the data sheet.\n"
        "`ridgepoint gpus NAME` shows all figures with their sources.",
        style="dim",
    )


def _figure(value: float | None, scale: float) -> str:
    return "–" if value is None else number(value / scale)


_UNITS = (
    ("_flops_per_clock_per_unit", "FLOP/clock/unit"), ("_flops_per_s", "FLOP/s"),
    ("_bytes_per_s", "B/s"), ("_bytes", "B"), ("_hz", "Hz"), ("_usd", "USD"), ("_w", "W"),
)  # fmt: skip


def one_gpu(name: str) -> None:
    """Print all figures of a GPU, each with its source."""
    gpu = find_gpu(name)
    sources = list(dict.fromkeys(gpu.sources.values()))
    table = _table("figure")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("source", no_wrap=True)
    for key, field, value in _figures(gpu):
        source = next((s for k, s in gpu.sources.items() if k in _file_keys(key)), None)
        cited = f"[{sources.index(source) + 1}]" if source else "none"
        table.add_row(field, value, Text(cited, "" if source else "yellow"))
    console = _console()
    facts = (gpu.vendor, gpu.architecture, gpu.memory_type, gpu.interconnect)
    console.print(Text(gpu.name, "bold"), Text(f"({gpu.id})", "dim"))
    console.print(", ".join(fact for fact in facts if fact), style="dim")
    if gpu.aliases:
        console.print("aliases: " + ", ".join(gpu.aliases), style="dim", markup=False)
    console.print(table)
    for index, source in enumerate(sources, 1):
        console.print(Text(f"[{index}] {source}", "dim"))
    if gpu.notes:
        console.print(Text(gpu.notes))
    profile = learned(gpu.id)
    trust = Text(f"Kernel times: {kernel_times(gpu, profile)}, profile {profile.id}.")
    if profile.card == gpu.id:
        trust.append(f" Transferred from {profile.gpu}, with {OWN_FIGURES}.")
    other = uncalibrated(gpu)
    if other and gpu.id != profile.gpu:
        low, high = other.interval
        trust.append(f" {other.runs}: {other.note}; {low:g} to {high:g} times as long.")
        source = other.source.strip()
        trust.append(f" {source[0].upper()}{source[1:]}.", "dim")
    console.print(trust)


def _figures(gpu: GPU) -> list[tuple[str, str, str]]:
    """(key in the file, label, value) of every known number."""
    figures: list[tuple[str, str, str]] = []
    for key in gpu.__struct_fields__:
        value: Any = getattr(gpu, key)
        suffix, unit = next(((s, u) for s, u in _UNITS if key.endswith(s)), ("", ""))
        label = key.removesuffix(suffix).replace("_", " ") + " clock" * (unit == "Hz")
        if isinstance(value, Mapping) and unit:
            figures += [
                (f"{key}.{d}", f"{label} {d}", _show(v, unit))
                for d, v in cast("Mapping[str, Any]", value).items()
            ]
        elif isinstance(value, int | float):
            figures.append((key, label, _show(value, unit)))
    return figures


def _show(value: float, unit: str) -> str:
    if unit == "B":
        return data(value)
    if unit in ("W", "USD", "", "FLOP/clock/unit"):
        plain = f"{value:,.0f}" if value == int(value) else number(value, 4)
        return f"{plain} {unit}".strip()
    return scaled(value, unit, 4)


_FILE_UNITS = (
    ("_bytes_per_s", "_gbytes_per_s"),
    ("_bytes", "_gib"),
    ("_bytes", "_mib"),
    ("_hz", "_mhz"),
    ("_flops_per_s", "_tflops"),
)


def _file_keys(key: str) -> list[str]:
    """The keys under which a GPU's file may hold a figure, each with its unit."""
    figure, dot, dtype = key.partition(".")
    spellings = [figure.removesuffix(si) + file for si, file in _FILE_UNITS if figure.endswith(si)]
    return [spelling + dot + dtype for spelling in (figure, *spellings)]


def all_networks() -> None:
    """Print every network as a row, with its default sizes. Imports no torch."""
    table = _table("network")
    for name in ("batch", "seq"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for entry in CATALOGUE.values():
        seq = "" if entry.seq is None else f"{entry.seq:,}"
        only = "" if entry.trains else " (inference only)"
        about = Text(f"{entry.summary}{only}\n")
        about.append(" ".join(f"{k}={_plain(v)}" for k, v in entry.sizes.items()), style="dim")
        table.add_row(entry.name, f"{entry.batch:,}", seq, about)
    console = _console()
    console.print(table)
    console.print(
        "Change a size with --size NAME=VALUE. Your own networks: file.py:factory, "
        "hf:folder, timm:name.",
        style="dim",
    )


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, cast("tuple[object, ...]", value)))
    return str(value).lower()
