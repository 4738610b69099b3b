"""Measures a GPU and its host, fits the profiles that the simulator reads, and validates them.

May import the simulator; shares only data files with the app.
"""
