"""Clusters: GPUs, and the links between them."""

from simulator.cluster.cluster import Cluster, Link, Network, cluster, clusters

__all__ = ["Cluster", "Link", "Network", "cluster", "clusters"]
