"""From a trace and a machine to a prediction: of one step, of many traces, of a family.

May import fusion, schedule, symbols and what they stand on; knows no scenario.
"""
