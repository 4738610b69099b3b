"""Opening, saving and exporting files, and the banner that shows errors.

May import report, html and the explorer's state and background, but not its window.
"""
