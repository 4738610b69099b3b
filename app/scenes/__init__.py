"""The data of each picture, without Qt, from which PNG, window and HTML draw.

May import answers, lessons, quantities and the theme.
"""
