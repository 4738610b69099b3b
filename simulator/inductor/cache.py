"""A cache of schedules on disk. Keys depend on the network's content, the GPU and its profile, this
package's source, and the versions of torch and Triton."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec
from platformdirs import user_cache_dir

from simulator.errors import InputError
from simulator.formats.atomic import write_whole
from simulator.formats.sealed import opened, sealed
from simulator.inductor.answer import Answer
from simulator.inductor.question import Question
from simulator.symbols.cache import file_digest
from simulator.symbols.cache import key as trace_key
from simulator.timing.profile import learned_files

_PACKAGE = Path(__file__).parent
_LIMIT = 200
"""Schedules in the folder; the least recently used are deleted first."""


def key(question: Question) -> str:
    """The key of one schedule: 64 hexadecimal digits."""
    request = {name: getattr(question, name) for name in question.__struct_fields__}
    network, gpu = request.pop("network"), request.pop("gpu")
    return trace_key(
        network,
        gpu,
        triton=_version("triton"),
        scheduler=_own_source(),
        profile=[file_digest(path) for path in learned_files(gpu.id)],
        **request,
    )


class ScheduleCache:
    """A folder of schedules; truncated or changed files are ignored."""

    def __init__(self, folder: Path | str | None = None) -> None:
        place = Path(user_cache_dir("ridgepoint", appauthor=False)) / "inductor"
        self.folder = Path(folder) / "inductor" if folder else place

    def get(self, name: str) -> Answer | None:
        """The answer of a key, or None."""
        path = self._path(name)
        with suppress(OSError, InputError, msgspec.DecodeError):
            answer = msgspec.msgpack.decode(opened(path.read_bytes(), str(path)), type=Answer)
            path.touch()  # marks it as recently used
            return answer
        return None

    def put(self, name: str, answer: Answer) -> None:
        """Store an answer; write errors are ignored."""
        path = self._path(name)
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, sealed(msgspec.msgpack.encode(answer)))
            stored = sorted(self.folder.glob("*.schedule"), key=lambda p: p.stat().st_mtime)
            for old in stored[:-_LIMIT]:
                old.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.schedule"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


@cache
def _own_source() -> str:
    digest = hashlib.sha256()
    for path in sorted([*_PACKAGE.rglob("*.py"), *_PACKAGE.rglob("*.cpp")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    padding = "fusion/lowering/library/padding.py", "timing/profiles/h200.json"  # its times
    for name in padding:
        digest.update((_PACKAGE.parent / name).read_bytes())
    return digest.hexdigest()
