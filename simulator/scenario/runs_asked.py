"""Which networks ask how they are run: only those are traced anew where the mode changes.

What a network asks is known once it was traced: if its step asked nothing, the same trace serves
however it is run.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from threading import RLock

from simulator.modes import Run
from simulator.networks.catalogue import CATALOGUE
from simulator.records import Trace
from simulator.scenario.gpu_class import content
from simulator.scenario.resolved import TraceRequest


class RunsAsked:
    """`learn` from each trace; `served` by the trace of another run where that is the same."""

    def __init__(self) -> None:
        self._first: dict[Hashable, Run] = {}
        self._asking: set[Hashable] = set()
        self._lock = RLock()

    def served(self, ask: TraceRequest) -> TraceRequest:
        """The ask whose trace serves this one: itself, unless its network is known not to ask."""
        if ask.saved or ask.network in CATALOGUE:
            return ask
        first = self._first.get(_network(ask))
        return replace(ask, run=first) if first else ask

    def learn(self, ask: TraceRequest, trace: Trace) -> None:
        """What the trace of an ask tells of its network; one that asked at any size asks."""
        if ask.saved or ask.network in CATALOGUE:
            return
        network = _network(ask)
        with self._lock:
            if trace.asked:
                self._asking.add(network)
                self._first.pop(network, None)
            elif network not in self._asking:
                self._first.setdefault(network, ask.run)

    def clear(self) -> None:
        """Know nothing."""
        with self._lock:
            self._first.clear()
            self._asking.clear()


def _network(ask: TraceRequest) -> Hashable:
    return replace(ask, batch=None, seq=None, run="eager"), content(ask.network)
