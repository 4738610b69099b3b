"""Scenarios side by side, and a scenario before and after its what-ifs: tables, documents, rows.

May import the other reports, answers and scenes; no Qt.
"""
