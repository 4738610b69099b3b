"""Stored traces: families in memory, files on disk and their folder, and the facts of each.

May import `simulator.scenario.module` and `trace_module`, whose code is part of a file's key, and
their imports.
"""
