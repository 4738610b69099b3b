"""GPUs as data: one TOML file per GPU, in human units in the file and in SI units here.

The packaged files are in `simulator/hardware/gpus`. A user's own file works at once: by its path,
or from the folder `gpus` of the user's Ridgepoint configuration (RIDGEPOINT_GPUS, if set, names
another folder). Every error is an `InputError` that names the file and the key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
import platformdirs

from simulator.errors import InputError
from simulator.formats.limited import absence
from simulator.formats.present import files, is_folder
from simulator.formats.toml import shown
from simulator.hardware.gpu_file import read

Engine = Literal["tensor", "vector"]
DTYPES = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
PACKAGED = Path(__file__).parent / "gpus"


class GPU(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU (or another accelerator), in SI units; None stands for an unknown figure.

    Peaks are dense. `boost_hz` is the clock of the vector peaks and of fp64 on tensor cores;
    `tensor_hz` is that of all other tensor peaks. `units` are SMs or CUs.
    `interconnect_bytes_per_s` adds both directions. `tdp_w` is the card's default power limit,
    `power_limit_w` a lower one that its owner set. Programs cannot use 1 to 2% of `memory_bytes`.
    `sustained_*` are shares of the peaks and of the bandwidth that can be sustained: by large
    products within `tdp_w`, and by the best kernel. `l2_reach` is the share of L2 that still holds
    data just used. `sources` gives a source by figure, `unsourced` the figures without one, both as
    the file's dotted keys ("tensor_tflops.bf16").
    """

    id: str
    name: str
    memory_bytes: int
    bandwidth_bytes_per_s: float
    aliases: tuple[str, ...] = ()
    vendor: str | None = None
    architecture: str | None = None
    compute_capability: tuple[int, int] | None = None
    units: int | None = None
    boost_hz: float | None = None
    tensor_hz: float | None = None
    tensor_flops_per_s: Mapping[str, float] = {}
    vector_flops_per_s: Mapping[str, float] = {}
    tensor_flops_per_clock_per_unit: Mapping[str, float] = {}
    vector_flops_per_clock_per_unit: Mapping[str, float] = {}
    memory_type: str | None = None
    l2_bytes: int | None = None
    l2_bandwidth_bytes_per_s: float | None = None
    llc_bytes: int | None = None
    interconnect: str | None = None
    interconnect_bytes_per_s: float | None = None
    tdp_w: float | None = None
    power_limit_w: float | None = None
    l2_reach: float | None = None
    sustained_tensor: float | None = None
    sustained_vector: float | None = None
    sustained_memory: float | None = None
    price_usd: float | None = None
    sources: Mapping[str, str] = {}
    unsourced: tuple[str, ...] = ()
    notes: str | None = None

    def peak(self, engine: Engine, dtype: str) -> float | None:
        """Dense FLOP/s (a multiply-add is 2) of an engine at a dtype, or None."""
        if engine not in ("tensor", "vector") or dtype not in DTYPES:
            raise InputError(
                f"no engine {engine!r} at dtype {dtype!r}: expected 'tensor' or 'vector' and one "
                f"of {', '.join(DTYPES)}; correct the call"
            )
        peaks = self.tensor_flops_per_s if engine == "tensor" else self.vector_flops_per_s
        return peaks.get(dtype)

    def ridge(self, engine: Engine, dtype: str) -> float | None:
        """The ridge point, peak over memory bandwidth, in FLOP/byte; None without a peak."""
        peak = self.peak(engine, dtype)
        return None if peak is None else peak / self.bandwidth_bytes_per_s


def gpu(name_or_path: str | Path) -> GPU:
    """The GPU of this id, name or alias, or of the TOML file of this path.

    Letter case is ignored, and '-' equals '_'. Raises InputError for an unknown name (with near
    misses), and for an unreadable or invalid file.
    """
    if isinstance(name_or_path, Path) or name_or_path.lower().endswith(".toml"):
        return _load(Path(name_or_path))
    spelling = _spelling(name_or_path)
    paths = [path for path in _paths() if _spelling(path.stem) == spelling]
    if len(paths) == 1:  # an id: no other file is read
        return _load(paths[0])
    for gpu in _distinct(path for path in _paths() if _may_name(path, spelling)):
        if spelling in map(_spelling, _names(gpu)):
            return gpu
    everything = gpus()
    names = {_spelling(name): (name, gpu) for gpu in everything for name in _names(gpu)}
    if spelling in names:  # written with escapes
        return names[spelling][1]
    if _is_path(name_or_path):
        raise InputError(
            f"--gpu {shown(name_or_path)}: {absence(Path(name_or_path))}: expected a GPU's TOML "
            "file, whose name ends in .toml, or a GPU's name (`ridgepoint gpus`)"
        )
    near: dict[str, str] = {}  # by id, so that no GPU is offered under two names
    for name, card in map(names.__getitem__, get_close_matches(spelling[:64], names, 8, 0.55)):
        near.setdefault(card.id, repr(name))
    hint = f"did you mean {' or '.join([*near.values()][:2])}? " if near else ""
    raise InputError(
        f"unknown GPU {shown(name_or_path)}: {hint}`ridgepoint gpus` lists all {len(everything)}"
    )


def gpu_of_id(gpu_id: str) -> GPU | None:
    """The GPU whose file has exactly this name, or None."""
    return next((_load(path) for path in _paths() if path.stem == gpu_id), None)


def gpus() -> tuple[GPU, ...]:
    """Every GPU, the packaged ones first, then by id. Raises InputError if two share a name."""
    return _distinct(_paths())


def _distinct(paths: Iterable[Path]) -> tuple[GPU, ...]:
    """The GPUs of these files. Raises InputError if two share a name."""
    everything = {path: _load(path) for path in paths}
    owners: dict[str, Path] = {}
    for path, gpu in everything.items():
        for name in _names(gpu):
            if (owner := owners.setdefault(_spelling(name), path)) != path:
                raise InputError(
                    f"{path}: the name {name!r} is taken by {owner}: expected ids (file names), "
                    "names and aliases to be unique; rename one"
                )
    return tuple(everything.values())


def taken(names: Iterable[str], but: Path) -> tuple[str, Path] | None:
    """The first of these names that a file other than `but` uses, and that file."""
    owners = {_spelling(n): p for p in _paths() if p != but for n in _names(_load(p))}
    return next(((n, owners[_spelling(n)]) for n in names if _spelling(n) in owners), None)


@lru_cache(maxsize=1 << 12)
def _may_name(path: Path, spelling: str) -> bool:
    """Whether a GPU's file could contain this name, as `_spelling` writes it. A packaged file is
    searched as text, without parsing; for a user's own file the answer is always True."""
    if path.parent != PACKAGED:
        return True
    text = _spelling(path.read_text("utf-8"))
    return f'"{spelling}"' in text or f"'{spelling}'" in text


def _is_path(name: str) -> bool:
    """Whether the text is a path rather than the name of a GPU."""
    if not name:
        return False
    return os.sep in name or absence(Path(name)) == "is a folder"


def _spelling(name: str) -> str:
    return name.lower().replace("_", "-")


def _names(gpu: GPU) -> tuple[str, ...]:
    return (gpu.id, *gpu.aliases, gpu.name)


def users() -> Path:
    """The folder of the user's own GPUs, which may not exist. Raises InputError if RIDGEPOINT_GPUS
    is not a folder."""
    named = os.environ.get("RIDGEPOINT_GPUS")
    folder = Path(named or Path(platformdirs.user_config_dir("ridgepoint", False)) / "gpus")
    if named and not is_folder(folder):
        raise InputError(
            f"RIDGEPOINT_GPUS is {named!r}: expected a folder of TOML files; create it or unset it"
        )
    return folder


def _paths() -> list[Path]:
    return [*_packaged(PACKAGED, PACKAGED.stat().st_mtime_ns), *files(users(), "*.toml")]


@lru_cache(maxsize=2)
def _packaged(folder: Path, _mtime_ns: int) -> tuple[Path, ...]:
    """The packaged files; the folder's time is part of the cache key, so a new file is seen."""
    return tuple(sorted(folder.glob("*.toml")))


def _load(path: Path) -> GPU:
    try:
        stat = path.stat() if path.is_file() else None
    except OSError:  # a name that is too long, a folder without access
        stat = None
    if stat is None:
        raise InputError(f"{path}: {absence(path)}: expected a GPU's TOML file; check the path")
    return _parsed(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=256)
def _parsed(path: Path, _mtime_ns: int, _size: int) -> GPU:
    """The file's GPU; time and size are part of the cache key, so an edited file is read again."""
    return GPU(**read(path))
