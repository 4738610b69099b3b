"""A learner's work on a lesson: the attempt, the answers of a class and the task.

May import lessons, answers, the other scenes, quantities and the theme.
"""
