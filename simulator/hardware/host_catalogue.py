"""Hosts without measurements: the default's times, scaled by a public single-thread figure."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from simulator.hardware.host import Host

_FILE = Path(__file__).parent / "hosts" / "catalogue.toml"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`single_thread` is the figure, `spread` the uncertainty of its derivation, as
    `Host.spread`."""

    cpu: str
    kind: str
    single_thread: float
    spread: tuple[float, float]
    source: str


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`reference` is the figure of the default host's processor."""

    figure: str
    reference: float
    reference_cpu: str
    hosts: dict[str, Entry]


@cache
def _file() -> _File:
    return msgspec.toml.decode(_FILE.read_bytes(), type=_File)


def catalogue() -> dict[str, Entry]:
    """The hosts by id, in the order in which they are listed."""
    return _file().hosts


def derived(name: str, known: Host) -> Host:
    """A host of the catalogue: as many times as long as `known` takes as its figure is lower. The
    GPU's side of a launch and of a sync stays as it is."""
    entry, file = catalogue()[name], _file()
    times = file.reference / entry.single_thread
    low, high = entry.spread
    return msgspec.structs.replace(
        known.slower(times),
        id=name,
        cpu=entry.cpu,
        source=f"{known.id}, {times:.2f} times as long: {file.figure} of {entry.single_thread:g} "
        f"against {file.reference:g} of {file.reference_cpu} ({entry.source})",
        spread=(low, high),
        measured=False,
        reference={},
    )
