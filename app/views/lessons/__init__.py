"""Lessons: a question, a prediction, a reveal, an explanation.

May import widgets, scenes, formulas and the packages below them.
"""
