"""File formats: traces, TOML, links and numbers, and limits on the size of input.

May import only records and errors.
"""
