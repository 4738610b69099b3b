"""Hosts without measurements: the default's times, scaled by a public single-thread figure."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from simulator.hardware.host import Host

_OWN = ("desktop", "laptop", "workstation")
"""Kinds of hosts with a single user."""
_FILE = Path(__file__).parent / "hosts" / "catalogue.toml"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A host of the catalogue.

    single_thread  its public figure, or an estimate of it if `estimated`
    spread         the uncertainty of times derived from it, as in `Host.spread`
    unrecorded     what `source` leaves out, if not the same as for the other hosts
    """

    cpu: str
    kind: str
    single_thread: float
    spread: tuple[float, float]
    source: str
    estimated: bool = False
    unrecorded: str | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The catalogue; `reference` is the figure of the default host's processor, and `shared` the
    time of the default relative to the same host when no other process uses its cores
    (`calibration.fit.hosts_seen`). `unrecorded` is what the hosts' sources leave out."""

    figure: str
    reference: float
    reference_cpu: str
    shared: float
    unrecorded: str
    hosts: dict[str, Entry]


@cache
def _file() -> _File:
    return msgspec.toml.decode(_FILE.read_bytes(), type=_File)


def catalogue() -> dict[str, Entry]:
    """The hosts by id, in the order of the list."""
    return _file().hosts


def figure() -> str:
    """The name of the public figure."""
    return _file().figure


def unrecorded(name: str) -> str:
    """What the source of a host's figure leaves out."""
    return catalogue()[name].unrecorded or _file().unrecorded


def derived(name: str, known: Host) -> Host:
    """A host of the catalogue: the times of `known`, scaled by the inverse ratio of their figures.
    A machine with a single user has quiet cores. The GPU's part of a launch and
    of a sync is unchanged."""
    entry, file = catalogue()[name], _file()
    times = file.reference / entry.single_thread
    times /= file.shared if entry.kind in _OWN else 1.0
    low, high = entry.spread
    rating = f"an estimate of {file.figure}, {entry.single_thread:g},"
    if not entry.estimated:
        rating = f"{file.figure} of {entry.single_thread:g}"
    return msgspec.structs.replace(
        known.slower(times),
        id=name,
        cpu=entry.cpu,
        source=f"{known.id}, {times:.2f} times as long: {rating} against {file.reference:g} of "
        f"{file.reference_cpu}"
        + (f", {file.shared:g} times as fast with quiet cores" if entry.kind in _OWN else "")
        + f" ({entry.source})",
        spread=(low, high),
        measured=False,
        reference={},
    )
