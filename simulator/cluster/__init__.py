"""Clusters: GPUs, and the links between them.

May import hardware, formats and errors.
"""

from simulator.cluster.cluster import Cluster, Link, Network, cluster, clusters

__all__ = ["Cluster", "Link", "Network", "cluster", "clusters"]
