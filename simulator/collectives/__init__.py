"""Collectives: what NCCL chooses, and how long it takes.

May import cluster and what it stands on.
"""

from simulator.collectives.price import CollectiveTime, collective_time

__all__ = ["CollectiveTime", "collective_time"]
