"""Schedules on disk, by what they are schedules of: the network's own content, the GPU, our source,
and the versions of torch and Triton."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec
from platformdirs import user_cache_dir

from simulator.inductor.answer import Answer
from simulator.inductor.question import Question
from simulator.symbols.cache import key as trace_key
from simulator.timing.profile import learned

_PACKAGE = Path(__file__).parent
_MOST = 200
"""Schedules that are kept; those used longest ago go first."""


def key(question: Question) -> str:
    """64 hexadecimal digits for one schedule."""
    asked = {name: getattr(question, name) for name in question.__struct_fields__}
    network, gpu = asked.pop("network"), asked.pop("gpu")
    return trace_key(
        network,
        gpu,
        triton=_version("triton"),
        scheduler=_own_source(),
        profile=repr(learned(gpu.id)),
        **asked,
    )


class ScheduleCache:
    """A folder of schedules; a file that is torn or foreign is as good as none."""

    def __init__(self, folder: Path | str | None = None) -> None:
        place = Path(user_cache_dir("ridgepoint", appauthor=False)) / "inductor"
        self.folder = Path(folder) / "inductor" if folder else place

    def get(self, name: str) -> Answer | None:
        """The answer of a key, or None."""
        path = self._path(name)
        with suppress(OSError, msgspec.DecodeError):
            found = msgspec.msgpack.decode(path.read_bytes(), type=Answer)
            path.touch()  # used now
            return found
        return None

    def put(self, name: str, answer: Answer) -> None:
        """Keep an answer. A folder that cannot be written costs the speed and nothing else."""
        path = self._path(name)
        part = path.with_suffix(".part")
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(msgspec.msgpack.encode(answer))
            part.replace(path)
            kept = sorted(self.folder.glob("*.schedule"), key=lambda p: p.stat().st_mtime)
            for old in kept[:-_MOST]:
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
    for path in sorted(_PACKAGE.glob("*.*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update((_PACKAGE.parent / "fusion" / "padding.py").read_bytes())
    return digest.hexdigest()
