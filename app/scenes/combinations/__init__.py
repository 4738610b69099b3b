"""The data of the picture of combinations: its axes, its rows and what explains their spread.

May import answers, the other scenes, quantities and the theme.
"""
