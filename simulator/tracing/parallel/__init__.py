"""One rank of a distributed program, run without a GPU and without its peers.

May import torch, cluster, hardware, networks and all other modules of tracing.
"""
