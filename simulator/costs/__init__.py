from simulator.costs.registry import COSTS, Work, cost, works
