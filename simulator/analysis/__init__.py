"""What is asked of many predictions: sweeps, regimes, goals, advice, comparisons and contours.

May import the whole simulator but `kernel_source`; nothing that predicts one scenario imports it.
"""
