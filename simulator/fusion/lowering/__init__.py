"""One fused group as loops: the bytes that it reads and writes, and its arithmetic; the package
`library` has its library calls.

May import the root of fusion, costs, lowering and timing; no scheduling and no passes.
"""
