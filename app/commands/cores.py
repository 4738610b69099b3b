"""The number of processes that a command starts by default."""

from __future__ import annotations


def cores() -> int:
    """Number of cores that this process may use: the least of the machine's cores, the process's
    affinity and the container's share."""
    # imported here: it takes 0.1 s, and few commands start processes
    from joblib import cpu_count  # pyright: ignore[reportMissingTypeStubs]

    return cpu_count()
