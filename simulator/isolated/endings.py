"""Why a child that ran a user's code gave no answer, and what to do."""

from __future__ import annotations

import re
import signal
from pathlib import Path

_KILLED = 9
_DEBUG = "or run it with --no-sandbox, where a debugger can follow it"


def overran(network: str, limit_s: float) -> str:
    """The error text for a child that was killed because the time limit did not stop its code."""
    return (
        f"tracing {Path(network).name} took more than {limit_s:g} s and blocked the signal that "
        "stops it; its process was killed: expected the code to end by then; correct the network, "
        "give smaller sizes, or allow more with --time-limit"
    )


def unreadable(network: str) -> str:
    """The error text for a child that was killed because it wrote something other than messages."""
    return (
        f"the process that traced {Path(network).name} wrote to the pipe that returns its trace, "
        "and was killed: expected writes to standard output and to the network's own files only; "
        f"correct the network, {_DEBUG}"
    )


def ending(network: str, status: int, stack: str) -> str:
    """The error text for a child that ended by itself with this status, or by a signal
    (negative)."""
    name = Path(network).name
    file = Path(network.rpartition(":")[0] if ".py:" in network else network).name
    lines = re.findall(rf'File "[^"]*{re.escape(file)}", line (\d+)', stack)
    at = f" at {file}:{lines[0]}" if lines else ""
    if status == -_KILLED:
        return (
            f"the process that traced {name} was killed{at}, perhaps because memory ran out: "
            "expected a network that the machine can hold; give smaller sizes"
        )
    if status < 0:
        how = signal.Signals(-status).name if -status in [*signal.Signals] else f"signal {-status}"
        return (
            f"the process that traced {name} crashed with {how}{at}: expected code that returns; "
            f"correct the network, {_DEBUG}"
        )
    return (
        f"the process that traced {name} ended with status {status}: expected code that returns "
        f"and does not end its process; correct the network, {_DEBUG}"
    )
