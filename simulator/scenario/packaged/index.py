"""The index of the packaged families, and the digests of the code that traced them."""

from __future__ import annotations

import re
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

from simulator.costs.registry import read_by_tracing
from simulator.formats.installed import installed_version
from simulator.networks.catalogue import CATALOGUE
from simulator.symbols.refusals import Refusal

FOLDER = Path(__file__).parent / "families"
_INDEX = Path(__file__).parent / "index.json"
_PACKAGE = Path(__file__).parents[2]
_TRACING = ("tracing", "records")
_LOADING = (
    "costs/attention/selection.py",
    "costs/matmul/tensor_float.py",
    "networks/known_values.py",
    "networks/loading/load.py",
    "networks/loading/loaded.py",
    "networks/product_settings.py",
    "scenario/module.py",
    "scenario/trace_module.py",
)
_IMPORT = re.compile(r"^from (simulator\.networks\.[\w.]+) import", re.MULTILINE)


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """The file of a request on a card, and the stamp of the code that traced it.

    half       the dtype of tensors that are bfloat16 in the file; empty if it is the file's own
    attention  whether the network calls attention; without a call, every kernel gives this trace
    refusal    the error of the request at all points that the file's families hold
    refusing   the cells to which the error is limited, as places in the file; empty for all cells
    """

    file: str
    stamp: str
    half: str = ""
    attention: bool = True
    refusal: Refusal | None = None
    refusing: tuple[int, ...] = ()

    @property
    def is_update(self) -> bool:
        """Whether the file holds the update of an optimizer instead of families."""
        return self.file.endswith(".update")


class Index(msgspec.Struct, frozen=True):
    """The versions of torch and Python that made the files, and the entry of each name."""

    torch: str
    python: str
    entries: dict[str, Entry]


@cache
def read_index() -> Index:
    """The packaged index."""
    return msgspec.json.decode(_INDEX.read_bytes(), type=Index)


def write_index(index: Index) -> None:
    """Write the index, one entry per line."""
    entries = [
        f"    {msgspec.json.encode(name).decode()}: {msgspec.json.encode(entry).decode()}"
        for name, entry in sorted(index.entries.items())
    ]
    head = f'  "torch": "{index.torch}",\n  "python": "{index.python}",\n  "entries": {{\n'
    part = _INDEX.with_name(_INDEX.name + ".part")
    part.write_text("{\n" + head + ",\n".join(entries) + "\n  }\n}\n", "utf-8")
    part.replace(_INDEX)
    read_index.cache_clear()


def python_version() -> str:
    """The minor version of Python; traces depend on it because they count its instructions."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


@cache
def torch_version() -> str | None:
    """The minor version of the installed torch, on which traces depend; None without torch."""
    version = installed_version("torch")
    return version and ".".join(version.split(".")[:2])


def versions_agree(index: Index) -> bool:
    """Whether this process has the versions of torch and Python that made the files. Without torch
    no network can be traced again, so the files are valid under every version of Python."""
    return torch_version() in (None, index.torch) and (
        torch_version() is None or python_version() == index.python
    )


def stamp(network: str, torch: str, python: str) -> str:
    """A digest, 16 hexadecimal digits, of all that a trace of a catalogue network depends on: the
    source code of tracing and of the network, its sizes, what tracing reads of the ops' traits, and
    versions. An edit of a cost leaves it as it is."""
    entry = CATALOGUE[network]
    module = entry.factory.partition(":")[0]
    parts = [_digest_of_tracing(), repr(sorted(entry.sizes.items())), entry.factory]
    parts += [*_network_sources(module), torch, python]
    return sha256("\0".join(parts).encode()).hexdigest()[:16]


@cache
def _digest_of_tracing() -> str:
    """The digest of the code that traces steps on one GPU."""
    paths = [path for name in _TRACING for path in sorted((_PACKAGE / name).rglob("*.py"))]
    paths = [path for path in paths if path.parent != _PACKAGE / "tracing" / "parallel"]
    digest = sha256()
    for path in [*paths, *(_PACKAGE / name for name in _LOADING)]:
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + _text(path))
    digest.update(read_by_tracing().encode())
    return digest.hexdigest()


def _network_sources(module: str) -> list[str]:
    """The source of a network's module, and of the catalogue's modules that it imports."""
    sources: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in sources:
            path = _PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py")
            sources[name] = _text(path).decode("utf-8")
            waiting += _IMPORT.findall(sources[name])
    return [f"{name}\n{sources[name]}" for name in sorted(sources)]


def _text(path: Path) -> bytes:
    """The contents of a source file with Unix line ends, because a checkout may convert them."""
    return path.read_bytes().replace(b"\r\n", b"\n")
