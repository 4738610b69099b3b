"""The regime map: the dominant regime over two axes.

May import drawing, scenes and quantities.
"""
