"""Lessons: a question, a prediction, a reveal, an explanation."""
