"""Scenarios, their predictions and the texts about them, shared by commands and views; no Qt.

May import progress and quantities, and the simulator.
"""
