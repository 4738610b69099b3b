"""The host: the seconds of each kind of work that the CPU does to issue a step."""

from __future__ import annotations

import os
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.formats.limited import absence, contents
from simulator.formats.present import Stamp, is_file, stamp
from simulator.formats.toml import shown
from simulator.hardware.host_speed import PYTHON, Parts, parts

FOLDER = Path(__file__).parent / "hosts"
VERSION = 2
DEFAULT = "xeon-h200"
_LATER = ("recurrent_weight", "recurrent_call")
"""Counts that were added later; files without them are valid."""
_SPLIT = ("further_kernel", "trained_convolution", "gradient")
"""Counts of work that other counts once included; files without them are valid."""
TRAINING = 1.09
"""`Host.training` of hosts that were not timed in a process that trains: the geometric mean over 9
processes, from 0.94 to 1.36, each with at least 3 host-bound steps of either kind. Fixed work
alongside training steps takes 1.07 times as long as alongside inference steps of the same process,
in the geometric mean over 21 processes (`docs/accuracy/host.md`).
"""
OWN_SPREAD = (0.85, 1.25)
"""`Host.spread` of one measured host: variation over seconds, and errors of the model."""

_MOST_BYTES = 2**20
_AGAIN = (
    "measure this host again: `ridgepoint calibrate measure --host-only FOLDER`, then `ridgepoint "
    "calibrate fit FOLDER`"
)
_DISPATCHED = (
    "op", "library_op", "convolution_op", "norm_op", "attention_op", "cold_op", "view", "cold_view",
    "cpu_op", "recurrent_call", "recurrent_kernel", "recurrent_weight", "further_kernel",
    "trained_convolution", "foreach_tensor", "gradient", "forward_node", "backward_node",
    "backward_call", "optimizer_call",
)  # fmt: skip
_CALLED = (
    "op", "library_op", "convolution_op", "norm_op", "attention_op", "cold_op", "cpu_op",
    "recurrent_call", "recurrent_kernel", "recurrent_weight", "further_kernel",
    "trained_convolution",
)  # fmt: skip
COUNTS = (*PYTHON, *_DISPATCHED, "launch")
"""The counted work, in the order of the columns of `counts`; the schedule adds launches."""


_Seconds = Annotated[float, msgspec.Meta(ge=0, lt=1)]
_Times = Annotated[float, msgspec.Meta(gt=0)]


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds for each unit of counted work, and the constants of launching.

    spread      10th and 90th percentile of measured over predicted times of host-bound steps, over
                machines with this host and hours of the day
    spread_with the same over machines with one GPU, by its id, where enough were measured
    slowest     by number of ranks, each in a separate process: the median time of the slowest of
                their hosts relative to one host, and the spread around it
    training    times in a step that trains, relative to `seconds`
    measured    whether steps were timed on it; else its times are derived from a public figure
    reference   seconds of a few fixed steps on it, by name, to compare another host with it
    latency_s   from a launch call to the kernel's start on an idle GPU
    sync_s      from the GPU's end until the waiting host continues
    depth       launches that the queue holds before the host must wait
    """

    version: int
    id: str
    cpu: str
    source: str
    seconds: dict[str, _Seconds]
    latency_s: _Seconds
    sync_s: _Seconds
    depth: int
    spread: tuple[_Times, _Times] = (1.0, 1.0)
    spread_with: dict[str, tuple[_Times, _Times]] = {}
    slowest: dict[int, tuple[_Times, _Times, _Times]] = {}
    training: _Times = TRAINING
    measured: bool = True
    reference: dict[str, float] = {}

    def slower(self, times: float | Parts) -> Host:
        """A host whose times are multiplied by one number, or by one number for each part. It has
        no separate spreads for GPUs and ranks, because these were measured on other machines."""
        by = times if isinstance(times, Parts) else Parts(times, times, times)
        seconds = {name: s * by.of(name) for name, s in self.seconds.items()}
        return msgspec.structs.replace(self, seconds=seconds, spread_with={}, slowest={})

    def spread_on(self, gpu: str) -> tuple[float, float]:
        """The spread of machines with a GPU, by its id."""
        return self.spread_with.get(gpu, self.spread)

    def in_phase(self, phase: str) -> Host:
        """The host in a step of a phase, "training" or "inference". The result has no further
        factor for training."""
        if phase != "training" or self.training == 1.0:
            return self
        seconds = {name: s * self.training for name, s in self.seconds.items()}
        return msgspec.structs.replace(self, seconds=seconds, training=1.0)

    def of_ranks(self, count: int) -> Host:
        """The host of a step of `count` ranks, which all wait for the slowest one."""
        known = max((ranks for ranks in self.slowest if ranks <= count), default=None)
        if known is None:
            return self
        times, low, high = self.slowest[known]
        return msgspec.structs.replace(self.slower(times), spread=(low, high))

    def op_s(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Host seconds of each op, without its launches."""
        weights = np.array([self.seconds[name] for name in COUNTS[:-1]])
        return counts @ weights

    def library_call_s(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Host seconds of each op in the dispatcher and the library that it calls, without Python,
        autograd and launches."""
        weights = [self.seconds[name] if name in _CALLED else 0.0 for name in COUNTS[:-1]]
        return counts @ np.array(weights)

    @property
    def launch_s(self) -> float:
        return self.seconds["launch"]


def hosts() -> tuple[str, ...]:
    """The ids of the packaged host profiles, the default first."""
    # imported here, because `host_catalogue` imports this module
    from simulator.hardware.host_catalogue import catalogue

    measured = {path.stem for path in FOLDER.glob("*.json")}
    return (DEFAULT, *sorted(measured - {DEFAULT}), *catalogue())


def host(name: str | None = None) -> Host:
    """A packaged host profile, or a calibrated one by its path; None is the default. Raises
    InputError for an unknown name or a malformed file."""
    name = name or DEFAULT
    return _host(name, stamp(Path(name)) if name.endswith(".json") else None)


@lru_cache
def _host(name: str, _stamp: Stamp | None) -> Host:
    """A host; the stamp of its file is part of the cache key, so an edited file is read again."""
    path = Path(name) if name.endswith(".json") else FOLDER / f"{name}.json"
    if is_file(path):
        return _read(path)
    from simulator.hardware.host_catalogue import catalogue, derived  # see `hosts`

    if name in catalogue():
        return derived(name, host())
    why = absence(Path(name))
    if is_file(Path(name)):
        raise InputError(
            f"--host {name!r}: {why}: expected the host.json that `ridgepoint calibrate fit "
            "FOLDER` writes, or a host's name (`ridgepoint hosts`); fit the folder of the host's "
            "measurements, or give a host's file a name that ends in .json"
        )
    if name.endswith(".json") or os.sep in name or why == "is a folder":
        raise InputError(
            f"--host {name!r}: {why}: expected a calibrated host's .json file, or a host's name "
            "(`ridgepoint hosts`)"
        )
    known = hosts()
    near = get_close_matches(name[:64].lower().replace("_", "-"), known, 2)
    hint = f"did you mean {' or '.join(map(repr, near))}? `ridgepoint hosts` lists all {len(known)}"
    expected = f"expected one of {', '.join(known)}, or a calibrated host's .json file"
    raise InputError(f"unknown host {shown(name)}: {hint if near else expected}")


def _read(path: Path) -> Host:
    data = contents(path, "a host profile", _MOST_BYTES)
    try:
        _check_kind(msgspec.json.decode(data, type=_Kind), path)
        header = msgspec.json.decode(data, type=_Header)
        if header.version != VERSION:
            return _converted(header, path)
        host = msgspec.json.decode(data, type=Host)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path.name} is not a valid host profile: {error}; {_AGAIN}") from error
    host = _filled(host)
    lacking = [each for each in COUNTS if each not in host.seconds]
    if lacking:
        raise InputError(
            f"{path.name} is not a valid host profile: it lacks {', '.join(lacking)}; {_AGAIN}"
        )
    spreads = host.spread, *host.spread_with.values(), *(each[1:] for each in host.slowest.values())
    if any(low > high for low, high in spreads):
        raise InputError(
            f"{path.name} is not a valid host profile: the high end of its spread is below "
            f"the low end; {_AGAIN}"
        )
    return host


def _filled(read: Host) -> Host:
    """A host with the times that its older file lacks: 0 for work that its other counts include,
    else those of the default host, scaled by the time of an op."""
    seconds = {**dict.fromkeys(_SPLIT, 0.0), **read.seconds}
    later = [name for name in _LATER if name not in seconds]
    if later and "op" in seconds and read.id != DEFAULT:
        known = host().seconds
        times = seconds["op"] / known["op"]
        seconds |= {name: known[name] * times for name in later}
    return msgspec.structs.replace(read, seconds=seconds)


class _Kind(msgspec.Struct, frozen=True):
    """The version of a file. A file with the key `gpu` is a GPU's profile."""

    version: int
    gpu: msgspec.Raw = msgspec.Raw()


def _check_kind(kind: _Kind, path: Path) -> None:
    """Raises InputError for a GPU's profile, and for a file of a newer version of Ridgepoint."""
    if bytes(kind.gpu):
        raise InputError(
            f"{path.name} is a GPU's profile: expected a host's file; name the host.json that "
            "`ridgepoint calibrate fit FOLDER` writes beside it"
        )
    if kind.version > VERSION:
        raise InputError(
            f"{path.name} has version {kind.version}, which a newer version of Ridgepoint wrote: "
            f"expected version {VERSION}; update Ridgepoint, or {_AGAIN}"
        )


class _Header(msgspec.Struct, frozen=True):
    """The fields that every version of the file has."""

    version: int
    id: str
    cpu: str
    reference: dict[str, float] = {}


def _converted(header: _Header, path: Path) -> Host:
    """Convert a host file of version 1 by the times of its fixed steps, as a fit of its folder
    would. Raises InputError if it has no such times, or has another version."""
    known = host()
    if header.version != 1 or not set(header.reference) & set(known.reference):
        lacking = " and no times of fixed steps" if header.version == 1 else ""
        raise InputError(
            f"{path.name} has version {header.version}{lacking}: expected version {VERSION}, with "
            f"separate times for Python's instructions and calls into C; {_AGAIN}"
        )
    return msgspec.structs.replace(
        known.slower(parts(header.reference, known.reference)),
        id=header.id,
        cpu=header.cpu,
        source=f"{path.name}, of version 1: the times of {known.id} scaled by its fixed steps",
        spread=OWN_SPREAD,
        reference=header.reference,
    )
