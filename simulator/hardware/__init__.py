"""GPUs and hosts: their figures, their files, and those that come with Ridgepoint.

May import costs, formats, records and errors.
"""
