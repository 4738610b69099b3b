"""The Python code of a step as the profiler and Dynamo see it: whose code runs, how many of its
instructions and calls a host executes, and where torch.compile would break its graph.

May import torch, hardware and records, but nothing else of tracing.
"""
