"""The GPU editor: a form of figures with units and sources, checked while the user types.

May import widgets, but nothing else from the explorer.
"""
