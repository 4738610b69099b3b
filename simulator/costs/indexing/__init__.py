"""Gathers, scatters, embeddings, masks, sorts and searches: ops whose reads or writes follow
indices or the values of the data.

May import movement, kernels, the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.indexing import embeddings, gathers, masks, scatters, searching, sorting

__all__ = ["embeddings", "gathers", "masks", "scatters", "searching", "sorting"]
