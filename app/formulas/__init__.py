"""How each figure comes about: a rule, today's numbers put in, and the lesson that teaches it.

May import scenes, lessons and answers; no Qt.
"""
