"""Reports of predictions: on a terminal, side by side, and as data.

May import answers and scenes; no Qt.
"""
