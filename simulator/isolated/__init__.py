"""Trace networks of a user's file in a child process with limits, so a crash ends only the child.

Off until `ISOLATION.begin`: a program that calls the simulator traces in its own process.

May import networks, formats, caches, records and errors.
"""

from simulator.isolated.isolation import ISOLATION

__all__ = ["ISOLATION"]
