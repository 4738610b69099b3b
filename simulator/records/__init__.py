"""The records that all other packages share: tensors, ops and the trace that holds them.

A trace is plain data. It is written by `simulator.tracing`, which needs torch, and read by
everything else, which does not. Imports nothing from Ridgepoint.
"""

from simulator.records.op import COUNTED, TAIL, Collective, Op, Phase, Signature
from simulator.records.tensor import ITEM_BYTES, Tensor, row_major
from simulator.records.trace import Assumption, Break, Role, Storage, Trace, touches

__all__ = [
    "COUNTED",
    "ITEM_BYTES",
    "TAIL",
    "Assumption",
    "Break",
    "Collective",
    "Op",
    "Phase",
    "Role",
    "Signature",
    "Storage",
    "Tensor",
    "Trace",
    "row_major",
    "touches",
]
