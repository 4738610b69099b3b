"""Edits of traces, pure functions from trace to trace, which what-ifs apply.

May import fusion, scenario and their dependencies; register nothing.
"""
