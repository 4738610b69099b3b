"""Plans of fixed batches: inference at a rate, and whole training runs.

May import the other modules of planning and their dependencies.
"""
