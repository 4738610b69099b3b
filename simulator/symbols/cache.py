"""A cache of traces on disk.

A key is a digest of everything that a trace depends on: the network and its inputs, the bytes of
the user's file and of the files beside it that it imports, the source of this package's networks
and tracing, and the versions of Python, torch and the network's package. A file that is truncated,
invalid or of another version is ignored: the network is traced again and the file overwritten.
Nothing here imports torch.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from sys import version_info
from typing import Any

from platformdirs import user_cache_dir

from simulator.errors import InputError
from simulator.formats.trace_file import load, save
from simulator.hardware.gpu import GPU
from simulator.records import Trace
from simulator.symbols.family_file import save as save_families
from simulator.symbols.symbolic import Symbolic

_PACKAGE = Path(__file__).parent.parent
_SUFFIX, FAMILIES_SUFFIX = ".trace", ".families"
LIMIT_BYTES = 500 * 10**6


def key(network: str, gpu: GPU, **request: Any) -> str:
    """64 hexadecimal digits for one trace. `request` holds batch, seq, dtype, phase, sizes and the
    like, values that differ in their `repr`."""
    parts: list[str] = [network, repr(gpu)]
    parts += [f"{name}={_ordered(request[name])!r}" for name in sorted(request)]
    parts += [*_versions(network), _own_source(), *_content(network)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class TraceCache:
    """A folder of traces of at most `limit_bytes`; the least recently used are deleted first."""

    def __init__(self, folder: Path | str | None = None, limit_bytes: int = LIMIT_BYTES) -> None:
        place = user_cache_dir("ridgepoint", appauthor=False)
        self.folder = Path(folder) if folder else Path(place) / "traces"
        self.limit_bytes = limit_bytes

    def get(self, name: str, make: Callable[[], Trace]) -> Trace:
        """The trace stored under this key; else `make()`, which is stored.

        Errors of writing, such as a full disk, are ignored.
        """
        path = self.folder / f"{name}{_SUFFIX}"
        with suppress(InputError):
            trace = load(path)
            with suppress(OSError):
                path.touch()  # marks it as recently used
            return trace
        trace = make()
        with suppress(InputError, OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            save(trace, path)
            self._evict(path)
        return trace

    def families(self, name: str) -> Path:
        """The file of the families of this key, which need not exist."""
        return self.folder / f"{name}{FAMILIES_SUFFIX}"

    def put_families(self, name: str, symbolic: Symbolic) -> None:
        """Store families; errors of writing are ignored."""
        with suppress(InputError, OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            save_families(symbolic, self.families(name))
            self._evict(self.families(name))

    def _evict(self, newest: Path) -> None:
        files: list[tuple[float, int, Path]] = []
        stored = [p for s in (_SUFFIX, FAMILIES_SUFFIX) for p in self.folder.glob(f"*{s}")]
        for path in stored:
            with suppress(OSError):  # another process has deleted it
                stat = path.stat()
                files.append((stat.st_mtime, stat.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files, key=lambda file: file[0]):
            if total <= self.limit_bytes:
                return
            if path != newest:
                with suppress(OSError):
                    path.unlink()
                total -= size


def _ordered(value: Any) -> Any:
    """Mappings sorted by key, so that equal ones have equal texts."""
    return sorted(value.items()) if isinstance(value, Mapping) else value


def _versions(network: str) -> Iterator[str]:
    """The versions of what a trace depends on; it counts Python's calls, hence Python's version."""
    packages = ["ridgepoint", "torch"]
    packages += {"hf": ["transformers"], "timm": ["timm"]}.get(network.partition(":")[0], [])
    yield f"python {version_info.major}.{version_info.minor}"
    for package in packages:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:  # runs from its source
            yield f"{package} none"


@cache
def _own_source() -> str:
    """A digest of the code that traces, of autocast's table and of the catalogue's networks."""
    digest = hashlib.sha256()
    folders = [_PACKAGE / "tracing", _PACKAGE / "networks", _PACKAGE / "records"]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    for path in sorted([*files, _PACKAGE / "costs" / "compiled_traits.py"]):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _content(network: str) -> list[str]:
    """Digests of a network's own files; networks of the catalogue and timm have none."""
    if network.startswith("hf:"):
        path = Path(network.removeprefix("hf:"))
        return [_digest(path / "config.json" if path.is_dir() else path)]
    place = Path(network.rpartition(":")[0] if ".py:" in network else network)
    if place.suffix != ".py":
        return []
    digests: dict[Path, str] = {}
    _follow(place, place.parent, digests)
    return [
        f"{path.relative_to(place.parent)} {digest}" for path, digest in sorted(digests.items())
    ]


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "unreadable"


def _follow(path: Path, folder: Path, digests: dict[Path, str]) -> None:
    """Add the digests of a file and of what it imports from its folder; packages as a whole."""
    if path in digests:
        return
    digests[path] = _digest(path)
    try:
        names = set(_imports(ast.parse(path.read_bytes())))
    except (OSError, SyntaxError, ValueError):
        return
    for name in names:
        package = folder / name
        files = (
            package.rglob("*.py")
            if (package / "__init__.py").is_file()
            else [package.with_suffix(".py")]
        )
        for file in files:
            if file.is_file():
                _follow(file, folder, digests)


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]
