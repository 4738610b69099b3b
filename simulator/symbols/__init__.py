"""Traces of a network for every batch and sequence length, derived from a few traces.

symbolic = Symbolic.fit(tracer, batch=8, seq=128)   # tracer(batch, seq) -> Trace
symbolic.at(24, 333)                                # equals tracer(24, 333), in milliseconds

May import schedule, lowering and their imports; no torch.
"""

from simulator.symbols.cache import TraceCache
from simulator.symbols.symbolic import Symbolic

__all__ = ["Symbolic", "TraceCache"]
