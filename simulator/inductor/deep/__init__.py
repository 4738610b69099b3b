"""Schedules of deep networks, extended from those of two shallower ones with equal blocks.

May import the other modules of the exact fusion, and their imports.
"""
