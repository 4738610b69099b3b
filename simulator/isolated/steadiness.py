"""Check whether a user's network gives the same trace again; if not, its trace is not stored.

Code may read the clock, random numbers or data files while it is traced, which the key of a stored
trace does not cover. The first trace of a network in a process is therefore repeated, and a network
that differs or reads data files is left out of the folder and reported.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

from simulator.formats.trace_file import encoded
from simulator.formats.trace_folder import TRACE_FOLDER
from simulator.networks.loading.loaded import Facts
from simulator.records import Trace

if TYPE_CHECKING:
    from simulator.isolated.process import IsolatedProcess

EVEN_IF_UNSTEADY: ContextVar[bool] = ContextVar("even_if_unsteady", default=False)
"""Store all traces: another process waits for them."""
_NAMED = 3  # number of files that a note names


class Steadiness:
    """The networks whose traces were repeated in this process."""

    def __init__(self) -> None:
        self._repeated: set[object] = set()

    def clear(self) -> None:
        """Forget all networks."""
        self._repeated.clear()

    def traced(
        self,
        network: str,
        state: object,
        run: Callable[[], tuple[Trace, Facts]],
        child: IsolatedProcess | None,
    ) -> tuple[Trace, Facts]:
        """The trace and the facts of a network, given by `run`, which may be called twice, in
        `child` if there is one. A user's file whose traces must not be stored is left out; `state`
        changes with the file."""
        first = run()
        is_users = network.endswith(".py") or ".py:" in network
        if not is_users or TRACE_FOLDER.path is None or EVEN_IF_UNSTEADY.get():
            return first
        read_files = child.read_files if child else []
        if read_files:
            more = len(read_files) - _NAMED
            names = ", ".join(read_files[:_NAMED]) + (f" and {more} more" if more > 0 else "")
            TRACE_FOLDER.leave_out(network, f"its code reads {names}")
        elif (network, state) not in self._repeated:
            self._repeated.add((network, state))
            trace, facts = run()
            if facts != first[1] or encoded(trace) != encoded(first[0]):
                TRACE_FOLDER.leave_out(
                    network, "two traces differ: its code may read the clock or random numbers"
                )
        return first
