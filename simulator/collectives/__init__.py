"""Collectives: what NCCL chooses, and how long it takes."""

from simulator.collectives.price import CollectiveTime, collective_time

__all__ = ["CollectiveTime", "collective_time"]
