"""One fused group as loops: which bytes it reads and writes and what it computes for each.

May import the root of fusion, costs, lowering and timing; no scheduling and no passes.
"""
