"""The folder in which this process stores traces, if any. Imports no module that is slow to
load."""

from __future__ import annotations

import os
from pathlib import Path

from simulator.errors import InputError

FOLDER_VARIABLE = "RIDGEPOINT_TRACES"


class TraceFolder:
    """The folder (None until `keep`), its damaged files, and the networks that are left out, with
    the reason for each."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self._damaged: list[Path] = []
        self._left_out: dict[str, str] = {}
        self._unsaid: list[str] = []

    def keep(self, folder: Path | str | None = None, even_if_off: bool = False) -> None:
        """Store traces in this folder, by default in the user's cache, from now on.

        The variable RIDGEPOINT_TRACES names another folder; "off" stores nothing unless
        `even_if_off`.
        """
        variable = os.environ.get(FOLDER_VARIABLE, "")
        off = variable == "off"
        variable = "" if off and even_if_off else variable
        self.path = None if off and not even_if_off else Path(variable or folder or usual_folder())

    def close(self) -> None:
        """Store nothing, and read nothing, from now on."""
        self.path = None

    def report(self, path: Path) -> None:
        """Record a damaged file."""
        self._damaged.append(path)

    def reported(self) -> list[Path]:
        """The files that turned out to be damaged since the last call."""
        paths, self._damaged = self._damaged, []
        return paths

    def leave_out(self, network: str, reason: str) -> None:
        """Store no further traces of a network."""
        if network not in self._left_out:
            self._unsaid.append(network)
        self._left_out[network] = reason

    def leaves_out(self, network: str) -> bool:
        """Whether traces of a network are not stored."""
        return network in self._left_out

    def left_out(self) -> dict[str, str]:
        """The networks that were left out since the last call, each reported once, with reasons."""
        networks, self._unsaid = self._unsaid, []
        return {network: self._left_out[network] for network in networks}

    def opened(self) -> Path:
        """The folder. Raises InputError if none is open."""
        if self.path is None:
            raise InputError("no families on disk: expected a folder of traces; call keep_on_disk")
        return self.path


def usual_folder() -> Path:
    """The folder of traces in the user's cache."""
    from platformdirs import user_cache_dir  # imported here: only needed if traces are stored

    return Path(user_cache_dir("ridgepoint", appauthor=False)) / "traces"


TRACE_FOLDER = TraceFolder()
