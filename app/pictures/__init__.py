"""The README's picture, made from a real prediction: `python -m app.pictures`.

May import answers and report.
"""
