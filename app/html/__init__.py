"""A prediction as one HTML file that opens from disk: no script, no network, no Qt.

May import scenes, report and answers.
"""
