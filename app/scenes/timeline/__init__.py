"""The data of a timeline: its lanes, and the lanes that stay at its top.

May import answers, the other scenes, quantities and the theme.
"""
