"""A step over several GPUs: the cluster, the split, its ranks and collectives, and how it scales.

May import charts, widgets, answers and what these stand on.
"""
