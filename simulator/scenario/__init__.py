"""Scenarios: resolve their what-ifs, trace their networks, predict their steps.

May import everything that turns ops into a prediction, but no what-if of `simulator.whatif`.
"""
