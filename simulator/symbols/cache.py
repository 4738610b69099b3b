"""A cache of traces on disk.

A key is a digest of everything that a trace depends on: the network and its inputs, and the bytes
of the user's file and of the user's files that it imports. It also covers the source of this
package's networks and tracing, and the versions of Python, torch, opt_einsum and the network's
package. A file whose digest does not match is damaged: it is reported and overwritten, and the
network is traced again. Nothing here imports torch.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from sys import version_info
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from simulator.costs.registry import read_by_tracing
from simulator.errors import InputError
from simulator.formats.atomic import PART, write_whole
from simulator.formats.installed import installed_version
from simulator.formats.present import files, is_file, is_folder
from simulator.formats.sealed import opened, sealed
from simulator.formats.trace_file import VERSION as TRACE_VERSION
from simulator.formats.trace_file import check_savable, decoded, encoded
from simulator.hardware.gpu import GPU
from simulator.records import Trace
from simulator.symbols.family_file import VERSION as FAMILIES_VERSION
from simulator.symbols.family_file import save as save_families
from simulator.symbols.sources import source_digests
from simulator.symbols.symbolic import Symbolic

_PACKAGE = Path(__file__).parent.parent
_SUFFIX, _FAMILIES, _RECORD, _BLOCKS = ".trace", ".families", ".facts", ".blocks"
_RANK = ".rank"
_SUFFIXES = (_SUFFIX, _FAMILIES, _RECORD, _BLOCKS, _RANK, PART)
"""The suffixes of traces, families of traces, facts about a network, blocks of predicted
combinations, traces of one rank of several, and unfinished files."""
LIMIT_BYTES = 500 * 10**6

T = TypeVar("T")


def key(network: str, gpu: GPU, **request: Any) -> str:
    """The key of one trace: 64 hexadecimal digits. `request` holds values that their `repr`
    identifies: batch, seq, dtype, phase, sizes and the like."""
    files = [f"{name} {digest}" for name, digest in network_digests(network).items()]
    parts: list[str] = [network, repr(gpu)]
    parts += [f"{name}={_ordered(request[name])!r}" for name in sorted(request)]
    parts += [f"formats {TRACE_VERSION} {FAMILIES_VERSION}, sealed"]
    parts += [*_versions(network), _own_source(), *files]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class TraceCache:
    """A folder of traces of at most `limit_bytes`; the least recently used are deleted first."""

    def __init__(
        self,
        folder: Path | str,
        limit_bytes: int = LIMIT_BYTES,
        damaged: Callable[[Path], None] = lambda path: None,
    ) -> None:
        self.folder = Path(folder)
        self.limit_bytes = limit_bytes
        self._damaged = damaged

    def get(
        self, name: str, make: Callable[[], Trace], is_stored: Callable[[], bool] = lambda: True
    ) -> Trace:
        """The trace stored under this key; else the result of `make()`, which is then stored if
        `is_stored()`.

        Write errors, such as a full disk, are ignored.
        """
        path = self.folder / f"{name}{_SUFFIX}"
        if is_file(path):
            try:
                trace = decoded(_content(path), str(path))
            except (InputError, OSError):
                self._damaged(path)
            else:
                with suppress(OSError):
                    path.touch()  # marks it as recently used
                return trace
        trace = make()
        if not is_stored():
            return trace
        with suppress(InputError, OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            check_savable(trace)
            write_whole(path, sealed(encoded(trace)))
            self._evict(path)
        return trace

    def record(self, name: str, kind: type[T]) -> T | None:
        """The small record stored under this key; None if it is missing or cannot be read."""
        path = self.folder / f"{name}{_RECORD}"
        try:
            return msgspec.json.decode(_content(path), type=kind)
        except OSError:
            return None
        except (InputError, msgspec.MsgspecError):
            self._damaged(path)
            return None

    def put_record(self, name: str, record: Any) -> None:
        """Store a small record; write errors are ignored."""
        path = self.folder / f"{name}{_RECORD}"
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, sealed(msgspec.json.encode(record)))

    def blocks(self, name: str) -> bytes | None:
        """The blocks stored under this key; None if none can be read."""
        return self._read(f"{name}{_BLOCKS}")

    def put_blocks(self, name: str, content: bytes) -> None:
        """Store blocks; write errors are ignored."""
        self._write(f"{name}{_BLOCKS}", content)

    def rank(self, name: str) -> bytes | None:
        """The encoded trace of a rank stored under this key; None if none can be read."""
        return self._read(f"{name}{_RANK}")

    def put_rank(self, name: str, content: bytes) -> None:
        """Store the encoded trace of a rank; write errors are ignored."""
        self._write(f"{name}{_RANK}", content)

    def _read(self, file: str) -> bytes | None:
        path = self.folder / file
        try:
            content = _content(path)
        except OSError:
            return None
        except InputError:
            self._damaged(path)
            return None
        with suppress(OSError):
            path.touch()  # marks it as recently used
        return content

    def _write(self, file: str, content: bytes) -> None:
        path = self.folder / file
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, sealed(content))
            self._evict(path)

    def families(self, name: str) -> Path:
        """The path of this key's families; the file need not exist."""
        return self.folder / f"{name}{_FAMILIES}"

    def put_families(self, name: str, symbolic: Symbolic) -> None:
        """Store families; write errors are ignored."""
        with suppress(InputError, OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            save_families(symbolic, self.families(name))
            self._evict(self.families(name))

    def _evict(self, newest: Path) -> None:
        stored = [(stat.st_mtime, stat.st_size, path) for path, stat in _stored(self.folder)]
        total = sum(size for _, size, _ in stored)
        for _, size, path in sorted(stored, key=lambda file: file[0]):
            if total <= self.limit_bytes:
                return
            if path != newest:
                with suppress(OSError):
                    path.unlink()
                total -= size


class Contents(NamedTuple):
    """The number of files of a cache, their size, and the time of the least recent use."""

    files: int
    nbytes: int
    oldest_s: float | None


def contents(folder: Path) -> Contents:
    """The contents of a cache folder."""
    stats = [stat for _, stat in _stored(folder)]
    oldest_s = min((stat.st_mtime for stat in stats), default=None)
    return Contents(len(stats), sum(stat.st_size for stat in stats), oldest_s)


def clear(folder: Path) -> Contents:
    """Delete the files of a cache, and nothing else in its folder. Return its former contents."""
    former = contents(folder)
    for path, _ in _stored(folder):
        with suppress(OSError):
            path.unlink()
    return former


def _stored(folder: Path) -> list[tuple[Path, os.stat_result]]:
    """The files of a cache in a folder."""
    stored: list[tuple[Path, os.stat_result]] = []
    for path in (path for suffix in _SUFFIXES for path in files(folder, f"*{suffix}")):
        with suppress(OSError):  # another process has deleted it
            stored.append((path, path.stat()))
    return stored


def _content(path: Path) -> bytes:
    """The content of a file of the cache. Raises InputError if the file is damaged, OSError if it
    cannot be read."""
    if path.stat().st_size > LIMIT_BYTES:
        raise InputError(f"{path} is larger than {LIMIT_BYTES:,} bytes; delete the file")
    return opened(path.read_bytes(), str(path))


def _ordered(value: Any) -> Any:
    """Mappings sorted by key, so that equal ones have equal texts."""
    return sorted(cast("Mapping[str, Any]", value).items()) if isinstance(value, Mapping) else value


def _versions(network: str) -> Iterator[str]:
    """The versions on which a trace depends; Python's too, since a trace counts its calls."""
    packages = ["ridgepoint", "torch", "opt_einsum"]  # the last one plans `torch.einsum`
    packages += {"hf": ["transformers"], "timm": ["timm"]}.get(network.partition(":")[0], [])
    yield f"python {version_info.major}.{version_info.minor}"
    for package in packages:
        yield f"{package} {installed_version(package) or 'none'}"  # no version: runs from source


@cache
def _own_source() -> str:
    """A digest of the code that traces, of the traits that it reads and of the catalogue's
    networks."""
    digest = hashlib.sha256(read_by_tracing().encode())
    folders = [_PACKAGE / "tracing", _PACKAGE / "networks", _PACKAGE / "records"]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    read = ["attention/selection.py", "matmul/tensor_float.py"]
    for path in sorted([*files, *(_PACKAGE / "costs" / name for name in read)]):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def network_digests(network: str) -> dict[str, str]:
    """Digests of a network's own files by name; networks of the catalogue and of timm have no such
    files."""
    if network.startswith("hf:"):
        path = Path(network.removeprefix("hf:"))
        path = path / "config.json" if is_folder(path) else path
        return {path.name: file_digest(path)}
    place = Path(network.rpartition(":")[0] if ".py:" in network else network)
    return source_digests(place) if place.suffix == ".py" else {}


def file_digest(path: Path) -> str:
    """The SHA-256 of a file; "unreadable" if it cannot be read."""
    if not is_file(path):  # reading a pipe would block
        return "unreadable"
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "unreadable"
