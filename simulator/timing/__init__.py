"""How long one kernel takes alone: rooflines, curves by kind, residuals and intervals.

May import costs, hardware and modes; its measured figures lie in `profiles/`.
"""
