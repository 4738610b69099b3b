"""A question and its answer: scenarios, their what-ifs resolved, their traces, predictions.

May import everything that turns ops into a prediction; knows no single what-if.
"""

from simulator.scenario.scenario import Applied, Scenario, Value, load, predict, save

__all__ = ["Applied", "Scenario", "Value", "load", "predict", "save"]
