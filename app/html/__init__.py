"""A prediction as one HTML file that opens from disk, without network access; no Qt.

May import charts, drawing, scenes, report and answers.
"""
