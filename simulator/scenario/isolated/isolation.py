"""The switch for tracing networks of a user's file in a child process, and that process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from simulator.scenario.isolated.limits import Limits

if TYPE_CHECKING:
    from simulator.scenario.isolated.process import IsolatedProcess


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
        if not getattr(sys, "frozen", False):
            self._limits = limits or Limits()

    def end(self) -> None:
        """Trace in this process from now on, and end the child."""
        if self._process is not None:
            self._process.close()
        self._limits = self._process = None

    def process_for(self, network: str) -> IsolatedProcess | None:
        """The child that runs the code of this network; None if this process runs it."""
        if self._limits is None or not (network.endswith(".py") or ".py:" in network):
            return None
        if self._process is None:
            # needs subprocess, which commands on networks of the catalogue do not load
            from simulator.scenario.isolated.process import IsolatedProcess

            self._process = IsolatedProcess(self._limits)
        return self._process


ISOLATION = Isolation()
