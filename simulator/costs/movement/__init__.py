"""Copies, concatenation, slices, fills, views and collectives: ops that move or set bytes.

May import kernels, the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.movement import (
    communication,
    concatenation,
    copies,
    fills,
    rearrangements,
    slices,
    views,
)

__all__ = [
    "communication",
    "concatenation",
    "copies",
    "fills",
    "rearrangements",
    "slices",
    "views",
]
