"""Pure functions from trace to trace, which what-ifs ask for.

May import fusion, scenario and what they stand on; register nothing.
"""
