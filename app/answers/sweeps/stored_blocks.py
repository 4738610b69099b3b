"""Blocks of combinations on disk, next to the traces: an unfinished question continues after the
explorer is restarted.

A file's name is a digest of everything that its figures depend on: the question, the files of the
simulator and of profiles, the network's own files, and torch. A file whose content does not match
its digest is not used.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy as np

import simulator
from app.answers.sweeps.combinations import Block, Known
from simulator.errors import InputError
from simulator.formats.installed import installed_version
from simulator.formats.present import is_file
from simulator.formats.trace_folder import TRACE_FOLDER
from simulator.scenario.scenario import Scenario, Value
from simulator.simulate.step_columns import COLUMNS
from simulator.symbols.cache import TraceCache, network_digests
from simulator.timing.profile import learned_files, users

_EVERY_S = 2.0
"""Minimum time between two writes of unfinished blocks: a crash loses at most this much work."""


class _Block(msgspec.Struct, array_like=True):
    axes: list[tuple[str, list[Value]]]
    refused: list[int]
    table: bytes
    """The columns as float64, row by row."""


class _File(msgspec.Struct, array_like=True):
    columns: list[str]
    blocks: list[_Block]


class StoredBlocks:
    """The file of one question; nothing is stored if the trace cache is off."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._written, self._written_s = 0, time.monotonic()

    def read(self) -> Known:
        """The blocks of the file; none if there is no valid file."""
        known: Known = {}
        content = _cache().blocks(self.name) if TRACE_FOLDER.path else None
        if content is None:
            return known
        with suppress(msgspec.MsgspecError, ValueError):
            file = msgspec.msgpack.decode(content, type=_File)
            if file.columns != list(COLUMNS):
                return known
            for block in file.blocks:
                key = tuple((name, tuple(values)) for name, values in block.axes)
                table = np.frombuffer(block.table, np.float64).reshape(-1, len(COLUMNS))
                known[key] = Block(table, tuple(block.refused))
        self._written = len(known)
        return known

    def write(self, known: Known, at_once: bool = True) -> None:
        """Store the blocks, if there are new ones; unless `at_once`, only every two seconds. Write
        errors are ignored.
        """
        late = time.monotonic() - self._written_s >= _EVERY_S
        if len(known) == self._written or not (at_once or late) or TRACE_FOLDER.path is None:
            return
        blocks = [
            _Block([(name, list(values)) for name, values in key], list(b.refused), b.bytes())
            for key, b in known.items()
        ]
        content = msgspec.msgpack.encode(_File(list(COLUMNS), blocks))
        _cache().put_blocks(self.name, content)
        self._written, self._written_s = len(known), time.monotonic()


def name_of(question: str, scenario: Scenario, axes: Mapping[str, Sequence[Value]]) -> str:
    """The name of the file for a question about a scenario and axes. `question` identifies the
    scenario, except for the contents of files and its values on the axes."""
    parts = [question, *axes]
    files = [path for value in axes.get("gpu", ()) for path in _files_of(str(value))]
    if isinstance(scenario.gpu, str):
        files += _files_of(scenario.gpu)
    parts += [_stamp(path) for path in dict.fromkeys(files)]
    with suppress(InputError, OSError):
        parts.append(repr(sorted(network_digests(scenario.network).items())))
    packages = [installed_version(each) or "none" for each in ("torch", "transformers", "timm")]
    parts += [*packages, _source()]
    return sha256("\0".join(parts).encode()).hexdigest()


def _files_of(gpu: str) -> list[Path]:
    """The files that the times of a GPU depend on, apart from those of the simulator."""
    return [Path(gpu), *learned_files(gpu), *sorted(users().glob("*.json"))]


def _stamp(path: Path) -> str:
    if not is_file(path):
        return ""
    stat = path.stat()
    return f"{path} {stat.st_size} {stat.st_mtime_ns}"


@cache
def _source() -> str:
    """A digest of the names, sizes and times of all files of the simulator."""
    folder = Path(simulator.__file__).parent
    files = (p for p in sorted(folder.rglob("*")) if p.suffix != ".pyc" and is_file(p))
    return sha256("\n".join(map(_stamp, files)).encode()).hexdigest()


def _cache() -> TraceCache:
    return TraceCache(TRACE_FOLDER.opened())
