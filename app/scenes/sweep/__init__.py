"""The data of a sweep: its curves, its measured points and the scene of both.

May import answers, the other scenes, quantities and the theme.
"""
