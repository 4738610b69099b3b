"""What the host does in a compiled step: guards, launches and replays of CUDA graphs.

May import fusion, schedule, timing and what these stand on.
"""
