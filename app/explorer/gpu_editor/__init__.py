"""A form for a GPU: figures with their units and where each is from, checked while typed.

May import widgets; nothing else of the explorer.
"""
