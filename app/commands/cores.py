"""How many processes a command starts where none are named."""

from __future__ import annotations


def cores() -> int:
    """The cores that this process may use: those of the machine, of its affinity or of its
    container's share, whichever are fewest."""
    from joblib import cpu_count  # 0.1 s: only for a command that starts processes

    return cpu_count()
