"""The time of a single kernel: rooflines, curves by kind, residuals and intervals.

May import costs, hardware and modes; the measured figures are in `profiles/`.
"""
