"""The explorer's plan: its draft, its fields, its candidates and their figures.

May import the other answers, progress, quantities and the simulator.
"""
