"""Trace networks of a user's file in a child process, if isolation is on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from simulator.isolated.limits import Limits

if TYPE_CHECKING:
    from simulator.isolated.process import IsolatedProcess


class Isolation:
    """Isolation is off until `begin`. One child process serves all networks."""

    def __init__(self) -> None:
        self._limits: Limits | None = None
        self._process: IsolatedProcess | None = None

    @property
    def limits(self) -> Limits | None:
        """The limits of the child; None if networks are traced in this process."""
        return self._limits

    def begin(self, limits: Limits | None = None) -> None:
        """Trace networks of a user's file in a child process from now on. Do nothing in a bundle,
        which has no Python to start a child with, and no torch."""
        limits = limits or Limits()
        if limits != self._limits:
            self.end()
        if not getattr(sys, "frozen", False):
            self._limits = limits

    def end(self) -> None:
        """Trace in this process from now on, and end the child."""
        if self._process is not None:
            self._process.close()
        self._limits = self._process = None

    def process_for(self, network: str) -> IsolatedProcess | None:
        """The child that runs the code of this network; None if this process runs it."""
        limits = self.limits_for(network)
        if limits is None:
            return None
        if self._process is None:
            # needs subprocess, which commands on networks of the catalogue do not load
            from simulator.isolated.process import IsolatedProcess

            self._process = IsolatedProcess(limits)
        return self._process

    def limits_for(self, network: str) -> Limits | None:
        """The limits of a process that runs the code of this network; None for networks of the
        catalogue and of packages, and if isolation is off."""
        return self._limits if network.endswith(".py") or ".py:" in network else None


ISOLATION = Isolation()
