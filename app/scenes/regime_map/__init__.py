"""The data of a regime map: its axes, its field, its lines and its table.

May import answers, the other scenes, quantities and the theme.
"""
