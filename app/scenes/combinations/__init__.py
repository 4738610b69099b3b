"""The data of the picture of combinations: its axes, its rows and the explanation of their spread.

May import answers, the other scenes, quantities and the theme.
"""
