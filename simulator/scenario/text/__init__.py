"""Scenarios as text: a command line, a TOML file, a link, and their what-ifs.

May import the modules of scenarios beside this package that trace nothing.
"""
