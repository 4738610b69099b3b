"""From a trace and a machine to a prediction: of one step, of many traces, of a family.

May import fusion, schedule, symbols and their dependencies; does not depend on scenarios.
"""
