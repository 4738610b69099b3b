"""Schedules of deep networks, extended from those of two shallower ones with identical blocks.

May import the other modules of `simulator.inductor`, and their imports.
"""
