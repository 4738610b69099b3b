"""Networks of a user's file, traced in a child process with limits: their code ends only itself.

Off until `ISOLATION.begin`, so a program that calls the simulator traces in its own process.
"""

from simulator.isolated.isolation import ISOLATION

__all__ = ["ISOLATION"]
