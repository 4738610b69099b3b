"""The timeline of a step: the host's ops above the GPU's kernels.

May import drawing, scenes and quantities.
"""
