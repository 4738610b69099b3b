"""Files and their texts: traces, TOML values, and limits on the size of input.

May import only records and errors.
"""
