"""Lessons: a question, a prediction, a reveal, an explanation.

May import widgets, scenes, formulas and what these stand on.
"""
