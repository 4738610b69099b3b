"""Background work of the explorer: predictions, traces and advice.

May import answers and the explorer's state; no widgets.
"""
