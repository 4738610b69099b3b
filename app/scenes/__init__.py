"""The data of each picture, without Qt; PNG files, the window and HTML draw it.

May import answers, lessons, quantities and the theme.
"""
