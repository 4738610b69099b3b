"""Plans: which GPU, how many and at what cost, for a load and its limits.

    from simulator import plan
    p = plan("service.toml")
    p.verdict, p.rows, p.assumptions

May import analysis, whatif and their dependencies.
"""

from simulator.planning.plan import plan
from simulator.planning.result import Assumption, Plan, Row

__all__ = ["Assumption", "Plan", "Row", "plan"]
