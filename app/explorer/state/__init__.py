"""State of the explorer: the session, its file format, and the files that it opens.

May import answers and the packages below it; no widgets.
"""
