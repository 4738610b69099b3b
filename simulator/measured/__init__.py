"""Measurements of real GPUs to compare with predictions: steps and profiler traces.

May import scenario and its dependencies.
"""
