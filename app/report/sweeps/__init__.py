"""Sweeps, regime maps, designs and goals: tables on the terminal, documents, rows.

May import the other reports, answers and scenes; no Qt.
"""
