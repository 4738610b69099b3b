"""Edits of traces, pure functions from trace to trace, which what-ifs apply.

May import fusion, scenario and what they stand on; register nothing.
"""
