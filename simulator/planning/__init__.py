"""Plans: which GPU, how many and at what cost, for a load and its limits.

from simulator import plan
answer = plan("service.toml")
answer.verdict, answer.rows, answer.assumptions
"""

from simulator.planning.plan import plan
from simulator.planning.result import Assumption, Plan, Row

__all__ = ["Assumption", "Plan", "Row", "plan"]
