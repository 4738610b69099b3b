"""A prediction as one HTML file that opens from disk: no script, no network, no Qt.

May import charts, drawing, scenes, report and answers.
"""
