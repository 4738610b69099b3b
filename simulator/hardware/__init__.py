"""GPUs and hosts: their figures and files, and the packaged ones.

May import costs, formats, records and errors.
"""
