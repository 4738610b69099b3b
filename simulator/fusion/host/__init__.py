"""The host's work in a compiled step: guards, launches and replays of CUDA graphs.

May import fusion, schedule, timing and their imports.
"""
