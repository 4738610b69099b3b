"""Files that are opened, saved and exported, and the banner that says what went wrong.

May import report, html and the explorer's state and background; not its window.
"""
