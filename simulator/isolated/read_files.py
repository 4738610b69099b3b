"""The data files that a user's code reads in the child process: its traces depend on them."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

_CODE = frozenset((".py", ".pyc", ".pyi", ".so", ".pyd", ".dll"))
_METADATA = (".dist-info", ".egg-info")
"""Suffixes of the folders that describe installed packages; imports list the packages' plugins."""
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib", "/run")


class ReadFiles:
    """Records the files that this process opens for reading after `begin`, apart from code and
    from the files of Python, of installed packages, of Ridgepoint and of the system."""

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}
        own = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()}
        own |= {os.path.realpath(folder) for folder in own}
        own |= {*_SYSTEM, str(Path(__file__).parents[1])}
        self._others = tuple(folder.rstrip(os.sep) + os.sep for folder in own if folder)

    def begin(self) -> None:
        """Record from now on, for the rest of the process."""
        sys.addaudithook(self._hear)

    def take(self) -> list[str]:
        """The files since the last call, in order."""
        paths, self._paths = self._paths, {}
        return list(paths)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(path := arguments[0], str):
            return
        writes = (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
        file = Path(path)
        if writes or file.suffix in _CODE or file.parent.suffix in _METADATA:
            return
        whole = str(file.absolute())
        if not whole.startswith(self._others) and file.is_file():
            self._paths[whole] = None
