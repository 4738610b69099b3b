"""The number of processes that a command starts by default."""

from __future__ import annotations


def cores() -> int:
    """Number of cores that this process may use: the least of the machine's cores, the process's
    affinity and the container's share."""
    from joblib import cpu_count  # takes 0.1 s; few commands start processes

    return cpu_count()
