"""Digests of a user's file and of its imports, on which a stored trace of the file depends.

Imports are read from the source and located as Python locates them, without running anything. The
imports of the user's files are followed. An installed package is represented by the size and the
time of its first file; the standard library is ignored.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from simulator.formats.present import is_file

_OWN_CODE = Path(__file__).parents[1]
_INSTALLED = ("site-packages", "dist-packages")


def source_digests(path: Path) -> dict[str, str]:
    """The digests of a file and of each module that it imports, directly or not, by name."""
    digests: dict[Path, tuple[str, str]] = {}
    _follow(path, path.parent, digests, set())
    return dict(sorted(digests.values()))


def _follow(
    path: Path, folder: Path, digests: dict[Path, tuple[str, str]], imported: set[str]
) -> None:
    """Add a user's file and everything that it imports, except the modules `imported` by an earlier
    file. A user's package is added as a whole."""
    if path in digests:
        return
    try:
        content = path.read_bytes() if is_file(path) else None  # reading a pipe would block
    except OSError:
        content = None
    if content is None:
        digests[path] = path.name, "unreadable"
        return
    digests[path] = _relative(path, folder), sha256(content).hexdigest()
    try:
        names = set(_imports(ast.parse(content)))
    except (SyntaxError, ValueError):
        return
    for name in sorted(names - sys.stdlib_module_names):
        if name in imported:
            continue
        imported.add(name)
        spec = PathFinder.find_spec(name, [str(folder)]) or _installed(name)
        for file in _files(spec):
            if _is_users(file):
                _follow(file, folder, digests, imported)
            elif _OWN_CODE not in file.parents:  # this package has a separate digest
                digests[file] = name, _stat(file)


def _relative(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder) if folder in path.parents else path)


@cache
def _installed(name: str) -> ModuleSpec | None:
    """The module that Python would import, including through finders of editable installations."""
    for finder in sys.meta_path:
        spec = finder.find_spec(name, None) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    return None


def _files(spec: ModuleSpec | None) -> Iterator[Path]:
    """The files of a module: all files of a user's package, the first file of an installed one."""
    origin = Path(spec.origin) if spec and spec.has_location and spec.origin else None
    folders = [Path(f) for f in spec.submodule_search_locations or ()] if spec else []
    if origin is not None and (not folders or not _is_users(origin)):
        yield origin
        return
    for folder in folders:
        if _is_users(folder):
            yield from sorted(folder.rglob("*.py"))


def _is_users(path: Path) -> bool:
    library = Path(sysconfig.get_path("stdlib"))
    installed = any(name in path.parts for name in _INSTALLED) or library in path.parents
    return not installed and path != _OWN_CODE and _OWN_CODE not in path.parents


def _stat(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:
        return "unreadable"
    return f"{stat.st_size} {stat.st_mtime_ns}"


def _imports(tree: ast.AST) -> Iterator[str]:
    """The top-level names of all imports in a source, nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
