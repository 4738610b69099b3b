"""What was measured on a real GPU, to lay over predictions: steps and profiler traces.

May import scenario and what it stands on.
"""
