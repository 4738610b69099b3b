"""Trace a network: the ops that a GPU build of PyTorch would dispatch, without a GPU.

May import torch, hardware and records.
"""

from simulator.tracing.calls import trace_call
from simulator.tracing.step import trace

__all__ = ["trace", "trace_call"]
