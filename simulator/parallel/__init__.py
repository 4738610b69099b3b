"""A step over several GPUs: trace each distinct rank, schedule the ranks together, predict.

May import simulate, collectives, isolated, tracing and their dependencies, but not scenario.
"""
