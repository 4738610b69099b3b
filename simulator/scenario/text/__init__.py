"""Scenarios as text: a command line, a TOML file, a link, and their what-ifs.

May import those modules of `simulator.scenario` that do not trace.
"""
