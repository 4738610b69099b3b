"""What the explorer asks beside its window: predictions, traces and advice.

May import answers and the explorer's state; no widget.
"""
