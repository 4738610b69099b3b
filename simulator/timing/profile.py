"""Profiles: the shares of the data sheet's peaks that GPUs reach, as data with sources."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from simulator.errors import InputError
from simulator.formats.limited import contents
from simulator.formats.present import is_file
from simulator.modes import autotunes, compiles, replays
from simulator.timing.card import CARDS, FIGURES, Card
from simulator.timing.residuals import Residual, Residuals

FOLDER = Path(__file__).parent / "profiles"
_MOST_BYTES = 2**26  # maximum bytes of a profile's file, four times those of the largest


class Traffic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A family bound by memory or by instruction issue.

    stream       bytes per clock and unit in flight from DRAM, limited by DRAM's own rate
    l2           share of L2's bandwidth that it reaches
    issue        share of the vector lanes' issue rate that it reaches
    fixed_s      launch to first byte, plus last byte to completion
    cold_s       added to fixed_s if the first byte comes from DRAM
    row          bytes per second of one row if a single block processes it (0: no limit)
    step_s       seconds of each step that must wait for the previous step
    run_clocks   clocks of one unit for each contiguous run in memory, of any length
    cold_step_s  added to step_s if the step waits for DRAM
    """

    stream: float
    l2: float
    issue: float
    fixed_s: float
    cold_s: float = 0.0
    row: float = 0.0
    step_s: float = 0.0
    run_clocks: float = 0.0
    cold_step_s: float = 0.0


class Tiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A family that computes in tiles, one at a time on each streaming multiprocessor.

    shapes       (rows, columns) of the tiles that the library has
    utilisation  share of peak that a tile of unlimited size would reach
    feed         bytes of operands per clock that reach a streaming multiprocessor
    wave_s       start and end of each wave of tiles
    split_s      extra time when the reduced dimension is split over several tiles
    dram, l2     share of the bandwidths that it reaches, on every card, since its loads run ahead
    unaligned    slowdown of compute if operands cannot be loaded in units of 16 bytes
    cold_s       added to fixed_s if the first byte comes from DRAM
    alone        slowdown of a tile of attention that runs alone on its unit
    masked       slowdown with a mask that is read
    edge         slowdown at the edge of a band of pairs, such as a causal mask's
    narrow       width of heads at which exponentials double the time
    """

    shapes: tuple[tuple[int, int], ...]
    utilisation: float
    feed: float
    wave_s: float
    split_s: float
    dram: float
    l2: float
    fixed_s: float
    unaligned: float = 1.0
    cold_s: float = 0.0
    alone: float = 1.0
    masked: float = 1.0
    edge: float = 1.0
    narrow: float = 0.0


_GAPS = {"gap_s", "graph_gap_s", "graph_launch_s"}


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How families of kernels use the measured GPU, `gpu`; other GPUs use it by transfer. `card` is
    another GPU of the same architecture to which the gaps, `kernel_s` and the intervals belong
    (`simulator.timing.card`).

    residuals    measured deviations from the roofline of a curve, by shape; `units` are those of
                 `gpu`
    kernel_s     additional seconds of a kernel without tiles on the `card`
    dram_reach   share of the data sheet's bandwidth that the best kernel reaches
    l2_reach     share of L2 that still holds data just used
    interval     10th and 90th percentile of measured over predicted periods, of held-out steps
    compiled     the same for steps under `torch.compile`
    replayed     the same for replayed CUDA graphs, which were small and few
    transferred  the same for other GPUs
    """

    version: int
    id: str
    gpu: str
    source: str
    traffic: dict[str, Traffic]
    tiles: dict[str, Tiles]
    residuals: Mapping[str, Residual]
    units: int
    dram_reach: float
    l2_reach: float
    l2_bytes_per_clock_per_unit: float
    gap_s: float
    graph_gap_s: float
    graph_launch_s: float
    interval: tuple[float, float]
    transferred: tuple[float, float]
    transferred_source: str
    compiled: tuple[float, float] | None = None
    replayed: tuple[float, float] | None = None
    card: str | None = None
    kernel_s: float = 0.0

    @property
    def of(self) -> str:
        """The id of the GPU that the profile describes."""
        return self.card or self.gpu

    def has_kernels_of(self, other: Profile) -> bool:
        """Whether this is the other profile, possibly with other gaps between kernels."""
        return self is other or all(
            getattr(self, name) is getattr(other, name)
            for name in self.__struct_fields__
            if name not in _GAPS
        )

    def interval_on(self, gpu: str, mode: str = "eager") -> tuple[float, float]:
        """The interval's ends relative to the predicted period, on the GPU of this id. On another
        GPU, a compiled step takes the wider end of `compiled` and `transferred`. The interval of
        max-autotune is wider by the uncertainty of its templates (`AUTOTUNED`)."""
        low, high = self.interval if gpu == self.of else self.transferred
        own = self.replayed if replays(mode) else self.compiled
        if compiles(mode) and own is not None:
            own_low, own_high = own
            here = gpu == self.gpu
            low, high = (own_low, own_high) if here else (min(low, own_low), max(high, own_high))
        faster, slower = AUTOTUNED if autotunes(mode) else (1.0, 1.0)
        return low * faster, high * slower


class _Packaged(Profile, frozen=True, forbid_unknown_fields=True):
    """A profile with undecoded residuals, which are nearly all of its file."""

    residuals: dict[str, msgspec.Raw]  # pyright: ignore[reportIncompatibleVariableOverride]


class _Versioned(msgspec.Struct):
    """A profile of any version."""

    version: int


AUTOTUNED = (0.97, 1.12)
"""The range of an autotuned step's time, relative to its prediction. With templates as slow as
untuned kernels, the inference steps of the catalogue would take 1 to 1.37 times as long (median
1.12); the only measured step took 0.98 times as long."""

VERSION = 3
"""The version of the profiles that this release reads and writes."""


_DEFAULT = "h200"


@lru_cache
def profile(name: str = _DEFAULT) -> Profile:
    """A packaged profile by its name, or a calibrated one by its path. Raises InputError for a
    profile that is unknown, malformed, of another version, or has figures out of range."""
    path = Path(name) if name.endswith(".json") else FOLDER / f"{name}.json"
    if (small := CARDS / f"{name}.json").is_file():
        return _of_card(small)
    if not is_file(path):
        known = ", ".join(packaged())
        raise InputError(f"unknown profile {name!r}: expected one of {known}, or a .json file")
    kind = _Packaged if path.parent == FOLDER else Profile
    text = contents(path, "a profile", _MOST_BYTES)
    try:
        decoded = msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            _check_version(path, msgspec.json.decode(text, type=_Versioned).version)
        raise InputError(f"{path} is not a valid profile: {error}; {_remedy(path)}") from error
    if isinstance(decoded, _Packaged):
        fields: dict[str, Any] = msgspec.structs.asdict(decoded)
        fields["residuals"] = Residuals(decoded.residuals)
        decoded = Profile(**fields)
    return _checked(path, decoded)


def _checked(path: Path, profile: Profile) -> Profile:
    """Return the profile. Raises InputError for another version, or figures out of range."""
    _check_version(path, profile.version)
    if wrong := _out_of_range(profile):
        raise InputError(f"{path} is not a valid profile: {wrong}; {_remedy(path)}")
    return profile


def _remedy(path: Path) -> str:
    """What to do about an invalid profile."""
    if path.parent in (FOLDER, CARDS):
        return "install Ridgepoint again"
    return (
        "fit again with `ridgepoint calibrate fit FOLDER --install`, where FOLDER holds the GPU's "
        "measurements, or remove the file to use the packaged profile"
    )


def _check_version(path: Path, version: int) -> None:
    if version != VERSION:
        raise InputError(
            f"{path} is a profile of version {version}: expected {VERSION}; {_remedy(path)}"
        )


def _of_card(path: Path) -> Profile:
    """The profile that a card's file names, with the card's own figures. Raises InputError for any
    other file."""
    try:
        card = msgspec.json.decode(path.read_bytes(), type=Card)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{path} is not a valid file of a card: {error}; {_remedy(path)}"
        ) from error
    own = {name: getattr(card, name) for name in ("version", "id", "source", *FIGURES)}
    return _checked(path, msgspec.structs.replace(profile(card.of), card=card.gpu, **own))


def _out_of_range(p: Profile) -> str | None:
    """The first figure that cannot be a measurement: a share above 1, a time that is not
    positive."""
    checks = {
        "dram_reach": (p.dram_reach, 0, 1),
        "l2_reach": (p.l2_reach, 0, 1),
        "gap_s": (p.gap_s, 0, 1e-3),
        "graph_gap_s": (p.graph_gap_s, 0, 1e-3),
        "graph_launch_s": (p.graph_launch_s, 0, 1e-2),
        "units": (p.units, 0, 1e5),
    }
    for name, t in (*p.traffic.items(), *p.tiles.items()):
        checks |= {f"{name}.l2": (t.l2, 0, 1), f"{name}.fixed_s": (t.fixed_s, 0, 1e-2)}
    for name, (value, low, high) in checks.items():
        if not low < value <= high:
            return f"{name} is {value:g}, expected above {low:g} and at most {high:g}"
    return None


def users() -> Path:
    """The folder of the user's own profiles, one file per GPU, named by its id."""
    return Path(platformdirs.user_config_dir("ridgepoint", False)) / "profiles"


def learned(gpu: str) -> Profile:
    """The best profile for the GPU of this id: the user's own calibration, a packaged profile, or
    the profile of a packaged card; else that of the H200, for transfer."""
    own = users() / f"{gpu}.json"
    if is_file(own):
        own_profile = profile(str(own))
        if own_profile.gpu != gpu:
            raise InputError(
                f"{own} is a profile of {own_profile.gpu}: expected a profile of {gpu}; name "
                f"the file {own_profile.gpu}.json, or calibrate {gpu} again"
            )
        return own_profile
    return next((p for p in map(profile, packaged()) if p.of == gpu), None) or profile(_DEFAULT)


def learned_files(gpu: str) -> list[Path]:
    """The files on which `learned` depends: the user's own, or all that ship with the project."""
    own = users() / f"{gpu}.json"
    return (
        [own] if is_file(own) else [p for at in (FOLDER, CARDS) for p in sorted(at.glob("*.json"))]
    )


def packaged() -> tuple[str, ...]:
    """The names of the profiles that ship with the project."""
    return _names(FOLDER, CARDS)


@lru_cache
def _names(*folders: Path) -> tuple[str, ...]:
    """The names of the profiles in these folders, cached because each prediction needs them."""
    return tuple(sorted(path.stem for folder in folders for path in folder.glob("*.json")))
