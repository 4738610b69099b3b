"""Files and their texts: traces, TOML values, and the limits of what is read.

May import records and errors alone.
"""
