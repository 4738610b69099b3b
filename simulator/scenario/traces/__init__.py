"""Stored traces: families in memory, files on disk and their folder, and the facts of each.

May import `module` and `trace_module` beside this package, whose code is part of a file's key, and
what these import.
"""
