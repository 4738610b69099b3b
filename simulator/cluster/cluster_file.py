"""A cluster's TOML file: its keys, and the errors for an invalid file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from simulator.errors import InputError
from simulator.formats.limited import absence, contents
from simulator.formats.present import is_file

_Count = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
_Rate = Annotated[float, msgspec.Meta(ge=1e-3, le=1e6)]
_Least0 = Annotated[float, msgspec.Meta(ge=0, le=1e6)]


class LinkTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[link]`: the bandwidth is the sum over all links of one GPU, in one direction."""

    kind: Literal["nvlink", "pcie"]
    generation: Annotated[int, msgspec.Meta(ge=1, le=7)]
    bandwidth_gbytes_per_s: _Rate
    source: str
    topology: Literal["nvswitch", "mesh", "tree", "none"] = "nvswitch"
    multicast: bool = False
    peer_to_peer: bool = True
    latency_us: _Least0 = 0.0


class NetworkTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[network]`: the bandwidth is that of one NIC, in one direction."""

    kind: Literal["infiniband", "roce", "slingshot", "ethernet"]
    bandwidth_gbits_per_s: _Rate
    source: str
    nics_per_gpu: _Rate = 1.0
    latency_us: _Least0 = 0.0


class Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a cluster's file at its top level."""

    name: str
    gpu: str
    gpus_per_node: _Count
    link: LinkTable
    nodes: _Count = 1
    network: NetworkTable | None = None
    notes: str = ""


def read(path: Path) -> Tables:
    """The tables of a file. Raises InputError with the file and the key."""
    if not is_file(path):
        raise InputError(f"{path}: {absence(path)}: expected a cluster's TOML file; check the path")
    try:
        text = contents(path, "a cluster", 64 * 1024, 2000).decode()
        return msgspec.convert(tomllib.loads(text), Tables)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {error}; correct the key") from error
    except (ValueError, RecursionError) as error:  # not UTF-8 or TOML, or nested too deeply
        raise InputError(f"{path} is not valid TOML: {error}; correct it") from error
