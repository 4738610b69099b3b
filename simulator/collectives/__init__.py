"""Collectives: NCCL's choice of algorithm, and its time.

May import cluster and its dependencies.
"""

from simulator.collectives.price import CollectiveTime, collective_time

__all__ = ["CollectiveTime", "collective_time"]
