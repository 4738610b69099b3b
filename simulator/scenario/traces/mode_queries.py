"""Networks that query how they are run (eager, captured, compiled) and may branch on the result.
Only these are traced again if the mode changes.

The first trace of a network shows whether it does; if not, its trace is the same in every mode.
"""

from __future__ import annotations

from collections.abc import Hashable
from threading import RLock

from msgspec.structs import replace

from simulator.modes import Run
from simulator.networks.catalogue import CATALOGUE
from simulator.records import Trace
from simulator.scenario.gpu_class import modified_ns
from simulator.scenario.resolved import TraceRequest


class ModeQueries:
    """Records which networks query how they are run, and finds the request whose trace can be
    reused for another one."""

    def __init__(self) -> None:
        self._first: dict[Hashable, Run] = {}
        self._querying: set[Hashable] = set()
        self._lock = RLock()

    def served(self, request: TraceRequest) -> TraceRequest:
        """The request whose trace can be used for this one: an earlier one in another mode, unless
        the network queries how it is run."""
        if request.saved or request.network in CATALOGUE:
            return request
        first = self._first.get(_network(request))
        return replace(request, run=first) if first else request

    def learn(self, request: TraceRequest, trace: Trace) -> None:
        """Record whether the network queried how it is run while it was traced. If it does so at
        one size, it is assumed to do so at every size."""
        if request.saved or request.network in CATALOGUE:
            return
        network = _network(request)
        with self._lock:
            if trace.asked:
                self._querying.add(network)
                self._first.pop(network, None)
            elif network not in self._querying:
                self._first.setdefault(network, request.run)

    def clear(self) -> None:
        """Forget all networks."""
        with self._lock:
            self._first.clear()
            self._querying.clear()


def _network(request: TraceRequest) -> Hashable:
    return replace(request, batch=None, seq=None, run="eager"), modified_ns(request.network)
